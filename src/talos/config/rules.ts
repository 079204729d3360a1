import { clusterRules } from './cluster-rules.ts';
import { findUndecodable } from './decoding.ts';
import { type ConfigDocument, isMain } from './document.ts';
import { documentRules } from './document-rules.ts';
import { imageRules } from './image-rules.ts';
import { keptRules } from './kept-rules.ts';
import { machineRules } from './machine-rules.ts';
import { trustRules } from './oidc-flag-rules.ts';
import type { RuleContext } from './rule.ts';

/**
 * What Talos would refuse, or accept and then never become ready with (`config/types/v1alpha1/v1alpha1_validation.go`
 * and `config/container` of Talos). Sentences name the path and never a value that could be a secret.
 */
export function findProblems(documents: readonly ConfigDocument[], context: RuleContext): string[] {
  const main = documents.find(isMain);
  if (!main) return ['The main document with machine and cluster is missing.'];
  const problems = [
    ...documents.flatMap((document) => findUndecodable(document, context.talosVersion)).map((text) => `${text}.`),
    ...machineRules.flatMap((rule) => rule(main, context)),
    ...clusterRules.flatMap((rule) => rule(main, context)),
    ...imageRules(documents, main, context),
    ...documentRules(documents, main, context),
    ...trustRules(documents, main, context),
  ];
  // What is missing has been said already.
  const said = new Set(problems.map(pathOf));
  return [...problems, ...keptRules(documents, main, context).filter((problem) => !said.has(pathOf(problem)))];
}

const pathOf = (problem: string): string | undefined => problem.split(/[: ]/)[0];
