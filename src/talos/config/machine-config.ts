import { stringify } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { type ConfigDocument, countValues } from './config-document.ts';
import type { MachineConfigInput } from './machine-config-input.ts';
import { applyPatches, tryPatches } from './patch/apply-patches.ts';
import { buildApiServerDocuments } from './sections/api-server-section.ts';
import { buildClusterSection } from './sections/cluster-section.ts';
import { buildMachineSection } from './sections/machine-section.ts';
import { buildUserVolumes } from './sections/user-volumes.ts';
import { validateDocuments } from './validation/validate-documents.ts';

export { type ConfigDocument, valueAt } from './config-document.ts';
export { setOidcTrust } from './edit/set-oidc-trust.ts';
export type { MachineConfigInput, NodeTaint } from './machine-config-input.ts';
export { findCaBundleProblem } from './oidc/ca-bundle.ts';
export {
  allowsSystemNames,
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
  systemPrefix,
} from './oidc/oidc-grammar.ts';
export { findFieldUnfitForArguments, issuerCaId, type OidcTrust } from './oidc/oidc-trust.ts';
export type { ConfigPatch } from './patch/apply-patches.ts';
export { findForbiddenFields } from './permissions/find-forbidden-fields.ts';

/**
 * Renders the complete machine configuration of one node as YAML: the main document, the host name, volumes, and the
 * documents from patches. One form serves Talos 1.12 to 1.14: 1.14 moves most of it into separate documents and still
 * accepts this form. Only the API server is configured by such documents on 1.14, because only they support several
 * issuers.
 *
 * The result is checked by the rules of Talos itself, because a node that finds an invalid configuration on its disk
 * waits forever without an API. Throws TALOS_PATCH_INVALID or TALOS_CONFIG_INVALID with patch, path and cause, never
 * with a value that could be a secret.
 */
export function renderMachineConfig(input: MachineConfigInput): SecretString {
  const documents = buildConfigDocuments(input);
  const problems = findConfigProblems(input);
  if (problems.length > 0) throw new ProviderError('TALOS_CONFIG_INVALID', problems.map(formatProblem).join(' '));
  return formatDocuments(documents);
}

/** One problem of a configuration, as a sentence, and the patch that caused it, if any. */
export interface ConfigProblem {
  readonly from?: string;
  readonly message: string;
}

const formatProblem = ({ from, message }: ConfigProblem): string =>
  from === undefined ? message : `${from}: ${message}`;

/** Maximum number of values to validate in order to attribute problems to patches. */
const maxInspectedValues = 60_000;
/** Approximate number of values of a configuration without patches. */
const generatedValueCount = 300;

/** Attributes problems to patches. One instance serves all kinds of nodes, which share patches. */
export class PatchAttribution {
  readonly #origins = new Map<string, string[]>();
  #left = maxInspectedValues;

  of(message: string, stages: readonly PatchStage[]): string | undefined {
    return this.#origins.get(message)?.find((origin) => stages.some(({ next }) => next === origin));
  }

  /**
   * Validates the configuration before each patch to find the patch that causes each message. Stops at the limit of
   * values: very large patches would delay other work.
   */
  find(
    messages: readonly string[],
    stages: readonly PatchStage[],
    find: (stage: PatchStage) => readonly string[],
  ): void {
    const open = new Set(messages.filter((message) => this.of(message, stages) === undefined));
    for (const stage of stages.toReversed()) {
      if (open.size === 0) return;
      this.#left -= stage.values;
      if (this.#left < 0) return;
      const before = new Set(find(stage));
      for (const message of [...open].filter((one) => !before.has(one))) {
        open.delete(message);
        this.#origins.set(message, [...(this.#origins.get(message) ?? []), stage.next]);
      }
    }
  }
}

/** A configuration with the first patches applied. */
interface PatchStage {
  readonly documents: readonly ConfigDocument[];
  readonly values: number;
  /** The origin of the next patch. */
  readonly next: string;
}

/** Returns all problems for which {@link renderMachineConfig} throws. */
export function findConfigProblems(input: MachineConfigInput, attribution = new PatchAttribution()): ConfigProblem[] {
  const { patches, role, talosVersion } = input;
  const made = generateDocuments(input);
  const stages: PatchStage[] = [];
  let [documents, values] = [made, generatedValueCount];
  for (const patch of patches) {
    stages.push({ documents, values, next: patch.from });
    const patched = tryPatches(documents, [patch], talosVersion);
    if ('problem' in patched) return [patched.problem];
    [documents, values] = [patched.documents, values + countValues(patch.document)];
  }
  const problemsOf = (all: readonly ConfigDocument[]) => validateDocuments(all, { role, talosVersion, made });
  const messages = problemsOf(documents);
  attribution.find(messages, stages, (stage) => problemsOf(stage.documents));
  return messages.map((message) => {
    const from = attribution.of(message, stages);
    return { message, ...(from === undefined ? {} : { from }) };
  });
}

/** The documents before validation and formatting. */
export const buildConfigDocuments = (input: MachineConfigInput): readonly ConfigDocument[] =>
  applyPatches(generateDocuments(input), input.patches, input.talosVersion);

/** The documents without patches. */
function generateDocuments(input: MachineConfigInput): readonly ConfigDocument[] {
  const main = {
    version: 'v1alpha1',
    debug: false,
    persist: true,
    machine: buildMachineSection(input),
    cluster: buildClusterSection(input),
  };
  const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: input.hostname };
  return [main, hostname, ...buildUserVolumes(input), ...buildApiServerDocuments(input)];
}

/** Quotes every text, so that no parser reads it as a number, a date or a boolean. */
function formatDocuments(documents: readonly ConfigDocument[]): SecretString {
  const texts = documents.map((document) =>
    stringify(document, {
      lineWidth: 0,
      defaultStringType: 'QUOTE_DOUBLE',
      defaultKeyType: 'PLAIN',
      aliasDuplicateObjects: false,
    }),
  );
  return new SecretString(texts.join('---\n'));
}
