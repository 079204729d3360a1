import { type ConfigDocument, isMainConfigDocument } from '../config-document.ts';
import { findOidcTrustProblems } from '../oidc/oidc-trust-rules.ts';
import { findDecodingProblems } from '../schema/decoding.ts';
import { clusterRules } from './cluster-rules.ts';
import { findDocumentProblems } from './document-rules.ts';
import { findImageProblems } from './image-rules.ts';
import { machineRules } from './machine-rules.ts';
import { findProtectedFieldProblems } from './protected-field-rules.ts';
import type { ConfigValidationContext } from './rule.ts';

/**
 * Finds problems that Talos rejects, or that it accepts although the node never becomes ready
 * (`config/types/v1alpha1/v1alpha1_validation.go` and `config/container` of Talos). Sentences name the path and never a
 * value that could be a secret.
 */
export function validateDocuments(documents: readonly ConfigDocument[], context: ConfigValidationContext): string[] {
  const main = documents.find(isMainConfigDocument);
  if (!main) return ['The main document with machine and cluster is missing.'];
  const problems = [
    ...documents.flatMap((document) => findDecodingProblems(document, context.talosVersion)).map((text) => `${text}.`),
    ...machineRules.flatMap((rule) => rule(main, context)),
    ...clusterRules.flatMap((rule) => rule(main, context)),
    ...findImageProblems(documents, main, context),
    ...findDocumentProblems(documents, main, context),
    ...findOidcTrustProblems(documents, main, context),
  ];
  // Missing values are reported already.
  const reportedPaths = new Set(problems.map(pathOf));
  return [
    ...problems,
    ...findProtectedFieldProblems(documents, main, context).filter((problem) => !reportedPaths.has(pathOf(problem))),
  ];
}

const pathOf = (problem: string): string | undefined => problem.split(/[: ]/)[0];
