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
 * The complete machine configuration of one node, as YAML: the main document, the host name, volumes, and what patches add. One
 * form serves Talos 1.12 to 1.14, which moves most of it into documents of its own and still accepts this one; only the
 * API server is described by such documents there, because they alone let it trust several issuers.
 *
 * It is checked by the rules that Talos itself would check it by, because a node that finds a wrong configuration on
 * its disc waits for ever with no API at all. Throws TALOS_PATCH_INVALID or TALOS_CONFIG_INVALID, naming patch, path and
 * cause, and never a value that could be a secret.
 */
export function renderMachineConfig(input: MachineConfigInput): SecretString {
  const documents = buildConfigDocuments(input);
  const problems = findConfigProblems(input);
  if (problems.length > 0) throw new ProviderError('TALOS_CONFIG_INVALID', problems.map(formatProblem).join(' '));
  return formatDocuments(documents);
}

/** What is wrong with a configuration, as a sentence, and the patch that brought it; none when no patch did. */
export interface ConfigProblem {
  readonly from?: string;
  readonly message: string;
}

const formatProblem = ({ from, message }: ConfigProblem): string =>
  from === undefined ? message : `${from}: ${message}`;

/** Values in all configurations that are looked at for one answer beside those that are asked about. */
const maxInspectedValues = 60_000;
/** Values of a configuration without patches, about. */
const generatedValueCount = 300;

/** Which patch brought what problem. One serves all kinds of nodes, which share patches. */
export class PatchAttribution {
  readonly #origins = new Map<string, string[]>();
  #left = maxInspectedValues;

  of(message: string, stages: readonly PatchStage[]): string | undefined {
    return this.#origins.get(message)?.find((origin) => stages.some(({ next }) => next === origin));
  }

  /**
   * Looks at the configuration before each patch. Of very large patches not all is found out: that takes time which others wait
   * for.
   */
  find(
    messages: readonly string[],
    stages: readonly PatchStage[],
    look: (stage: PatchStage) => readonly string[],
  ): void {
    const open = new Set(messages.filter((message) => this.of(message, stages) === undefined));
    for (const stage of stages.toReversed()) {
      if (open.size === 0) return;
      this.#left -= stage.values;
      if (this.#left < 0) return;
      const before = new Set(look(stage));
      for (const message of [...open].filter((one) => !before.has(one))) {
        open.delete(message);
        this.#origins.set(message, [...(this.#origins.get(message) ?? []), stage.next]);
      }
    }
  }
}

/** A configuration with some of the patches. */
interface PatchStage {
  readonly documents: readonly ConfigDocument[];
  readonly values: number;
  /** Where the patch stands that comes then. */
  readonly next: string;
}

/** All that {@link renderMachineConfig} would throw. */
export function findConfigProblems(input: MachineConfigInput, blame = new PatchAttribution()): ConfigProblem[] {
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
  blame.find(messages, stages, (stage) => problemsOf(stage.documents));
  return messages.map((message) => {
    const from = blame.of(message, stages);
    return { message, ...(from === undefined ? {} : { from }) };
  });
}

/** The documents before they are checked and written. */
export const buildConfigDocuments = (input: MachineConfigInput): readonly ConfigDocument[] =>
  applyPatches(generateDocuments(input), input.patches, input.talosVersion);

/** What we make ourselves. */
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

/** Every text is quoted: no reader can then take one for a number, a date or a truth value. */
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
