import { stringify } from 'yaml';
import { ProviderError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';
import { clusterSection } from './config/cluster-section.ts';
import type { ConfigDocument } from './config/document.ts';
import type { MachineConfigInput } from './config/input.ts';
import { machineSection } from './config/machine-section.ts';
import { applyPatches } from './config/patch.ts';
import { findProblems } from './config/rules.ts';

export type { ConfigDocument } from './config/document.ts';
export type { MachineConfigInput, NodeTaint } from './config/input.ts';
export type { ConfigPatch } from './config/patch.ts';

/**
 * The complete machine configuration of one node, as YAML: the main document, the host name, and what patches add. One
 * form serves Talos 1.12 to 1.14: 1.14 moves most of it into documents of its own, and still accepts this one.
 *
 * It is checked by the rules that Talos itself would check it by, because a node that finds a wrong configuration on
 * its disc waits for ever with no API at all. Throws TALOS_PATCH_INVALID or TALOS_CONFIG_INVALID, naming path and
 * cause, and never a value.
 */
export function renderMachineConfig(input: MachineConfigInput): Secret {
  const documents = describeMachineConfig(input);
  const problems = findProblems(documents, { role: input.role, talosVersion: input.talosVersion });
  if (problems.length > 0) throw new ProviderError('TALOS_CONFIG_INVALID', problems.join(' '));
  return formatDocuments(documents);
}

/** The documents before they are checked and written. */
export function describeMachineConfig(input: MachineConfigInput): readonly ConfigDocument[] {
  const main = {
    version: 'v1alpha1',
    debug: false,
    persist: true,
    machine: machineSection(input),
    cluster: clusterSection(input),
  };
  const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: input.hostname };
  return applyPatches([main, hostname], input.patches, input.talosVersion);
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
