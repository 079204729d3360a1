import { stringify } from 'yaml';
import { ProviderError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';
import { apiServerDocuments } from './config/api-server.ts';
import { clusterSection } from './config/cluster-section.ts';
import type { ConfigDocument } from './config/document.ts';
import type { MachineConfigInput } from './config/input.ts';
import { machineSection } from './config/machine-section.ts';
import { applyPatches, tryPatches } from './config/patch.ts';
import { findProblems } from './config/rules.ts';
import { userVolumes } from './config/user-volumes.ts';

export { changeTrust } from './config/change-trust.ts';
export type { ConfigDocument } from './config/document.ts';
export type { MachineConfigInput, NodeTaint } from './config/input.ts';
export { authorityId, type OidcTrust, unfitForArguments } from './config/oidc-trust.ts';
export type { ConfigPatch } from './config/patch.ts';

/**
 * The complete machine configuration of one node, as YAML: the main document, the host name, volumes, and what patches add. One
 * form serves Talos 1.12 to 1.14, which moves most of it into documents of its own and still accepts this one; only the
 * API server is described by such documents there, because they alone let it trust several issuers.
 *
 * It is checked by the rules that Talos itself would check it by, because a node that finds a wrong configuration on
 * its disc waits for ever with no API at all. Throws TALOS_PATCH_INVALID or TALOS_CONFIG_INVALID, naming patch, path and
 * cause, and never a value that could be a secret.
 */
export function renderMachineConfig(input: MachineConfigInput): Secret {
  const documents = describeMachineConfig(input);
  const problems = findConfigProblems(input);
  if (problems.length > 0) throw new ProviderError('TALOS_CONFIG_INVALID', problems.map(toSentence).join(' '));
  return formatDocuments(documents);
}

/** What is wrong with a configuration, as a sentence, and the patch that brought it; none when no patch did. */
export interface ConfigProblem {
  readonly from?: string;
  readonly message: string;
}

const toSentence = ({ from, message }: ConfigProblem): string => (from === undefined ? message : `${from}: ${message}`);

/** All that {@link renderMachineConfig} would throw. */
export function findConfigProblems(input: MachineConfigInput): ConfigProblem[] {
  const { patches, role, talosVersion } = input;
  const made = makeDocuments(input);
  const problemsOf = (count: number): ConfigProblem[] => {
    const patched = tryPatches(made, patches.slice(0, count), talosVersion);
    if ('problem' in patched) return [patched.problem];
    return findProblems(patched.documents, { role, talosVersion, made }).map((message) => ({ message }));
  };
  const problems = problemsOf(patches.length);
  if (problems.length === 0 || patches.length === 0) return problems;
  const before = patches.map((_, count) => new Set(problemsOf(count).map(({ message }) => message)));
  return problems.map((problem) => {
    const from = problem.from ?? patches[before.findLastIndex((messages) => !messages.has(problem.message))]?.from;
    return { ...problem, ...(from === undefined ? {} : { from }) };
  });
}

/** The documents before they are checked and written. */
export const describeMachineConfig = (input: MachineConfigInput): readonly ConfigDocument[] =>
  applyPatches(makeDocuments(input), input.patches, input.talosVersion);

/** What we make ourselves. */
function makeDocuments(input: MachineConfigInput): readonly ConfigDocument[] {
  const main = {
    version: 'v1alpha1',
    debug: false,
    persist: true,
    machine: machineSection(input),
    cluster: clusterSection(input),
  };
  const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: input.hostname };
  return [main, hostname, ...userVolumes(input), ...apiServerDocuments(input)];
}

/** Every text is quoted: no reader can then take one for a number, a date or a truth value. */
function formatDocuments(documents: readonly ConfigDocument[]): Secret {
  const texts = documents.map((document) =>
    stringify(document, {
      lineWidth: 0,
      defaultStringType: 'QUOTE_DOUBLE',
      defaultKeyType: 'PLAIN',
      aliasDuplicateObjects: false,
    }),
  );
  return new Secret(texts.join('---\n'));
}
