import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigDocument } from '../../src/talos/config/config-document.ts';
import { buildConfigDocuments, type MachineConfigInput } from '../../src/talos/config/machine-config.ts';
import { validateDocuments } from '../../src/talos/config/validation/validate-documents.ts';
import type { SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { exampleConfigInput, exampleSecretsBundle } from './example-config.ts';
import { describeWithTalosctl, describeWithTalosctl114, validateWithTalosctl } from './talosctl.ts';

export type NodeRole = 'controlplane' | 'worker';

/** A patch that Talos would not live with, or not as it is meant. */
export interface RejectedPatch {
  readonly what: string;
  readonly role?: NodeRole;
  readonly patch: ConfigDocument;
  /** A part of what we say. */
  readonly problem: string;
  /** talosctl cannot see it: only the node, Kubernetes or a later boot would. */
  readonly onlyWe?: boolean;
}

/** Patches that Talos lives with. */
export interface AcceptedPatches {
  readonly what: string;
  readonly role?: NodeRole;
  readonly patches: readonly ConfigDocument[];
}

/** In a patch: takes the field away. */
export const deletePatch = { $patch: 'delete' };

/** A document of Talos besides the main one. */
export const configDocument = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

type InputChanges = Partial<MachineConfigInput>;
let bundle: SecretsBundle;

/** To be called once in a file that judges patches. */
export const preparePatchCases = (): void =>
  beforeAll(async () => {
    bundle = await exampleSecretsBundle();
  });

function describePatchedConfig(role: NodeRole, patches: readonly ConfigDocument[], changes: InputChanges) {
  const named = patches.map((one, i) => ({ from: `patches[${i}]`, document: one }));
  const input = exampleConfigInput(bundle, { role, patches: named, ...changes });
  return { documents: buildConfigDocuments(input), talosVersion: input.talosVersion };
}

/** What we have against the example with these patches. */
export function configProblems(
  role: NodeRole,
  patches: readonly ConfigDocument[],
  changes: InputChanges = {},
): readonly string[] {
  const { documents, talosVersion } = describePatchedConfig(role, patches, changes);
  return validateDocuments(documents, { role, talosVersion });
}

/** The same configuration, right or wrong, as a file. */
export const renderPatchedConfig = (
  role: NodeRole,
  patches: readonly ConfigDocument[],
  changes: InputChanges = {},
): string =>
  describePatchedConfig(role, patches, changes)
    .documents.map((one) =>
      stringify(one, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' }),
    )
    .join('---\n');

/** Each is refused by us, and by talosctl as far as it can see it. */
export function itRejectsPatches(cases: readonly RejectedPatch[], talosVersion: '1.13.9' | '1.14.0' = '1.13.9'): void {
  const changes = { talosVersion };
  it.each(cases)('$what', ({ role = 'controlplane', patch, problem }) => {
    expect(configProblems(role, [patch], changes).join('\n')).toContain(problem);
  });
  const visible = cases.filter(({ onlyWe }) => !onlyWe);
  const withOne = talosVersion === '1.14.0' ? describeWithTalosctl114 : describeWithTalosctl;
  withOne((talosctl) => {
    it.each(visible)('refuses too: $what', ({ role = 'controlplane', patch }) => {
      expect(validateWithTalosctl(talosctl, 'metal', renderPatchedConfig(role, [patch], changes))).not.toBe('');
    });
  });
}
