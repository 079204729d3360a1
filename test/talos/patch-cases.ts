import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigDocument } from '../../src/talos/config/config-document.ts';
import { buildConfigDocuments, type MachineConfigInput } from '../../src/talos/config/machine-config.ts';
import { validateDocuments } from '../../src/talos/config/validation/validate-documents.ts';
import type { SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { exampleConfigInput, exampleSecretsBundle } from './example-config.ts';
import { describeWithTalosctl, describeWithTalosctl114, validateWithTalosctl } from './talosctl.ts';

export type NodeRole = 'controlplane' | 'worker';

/** A patch that makes Talos fail, or that has another effect than intended. */
export interface RejectedPatch {
  readonly what: string;
  readonly role?: NodeRole;
  readonly patch: ConfigDocument;
  /** A part of our error message. */
  readonly problem: string;
  /** talosctl accepts it: the problem shows only on the node, in Kubernetes or at a later boot. */
  readonly onlyWe?: boolean;
}

/** Patches that Talos accepts. */
export interface AcceptedPatches {
  readonly what: string;
  readonly role?: NodeRole;
  readonly patches: readonly ConfigDocument[];
}

/** In a patch: removes the field. */
export const deletePatch = { $patch: 'delete' };

/** A Talos document besides the main one. */
export const configDocument = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

type InputChanges = Partial<MachineConfigInput>;
let bundle: SecretsBundle;

/** Call it once in each file that validates patches. */
export const preparePatchCases = (): void =>
  beforeAll(async () => {
    bundle = await exampleSecretsBundle();
  });

function describePatchedConfig(role: NodeRole, patches: readonly ConfigDocument[], changes: InputChanges) {
  const named = patches.map((one, i) => ({ from: `patches[${i}]`, document: one }));
  const input = exampleConfigInput(bundle, { role, patches: named, ...changes });
  return { documents: buildConfigDocuments(input), talosVersion: input.talosVersion };
}

/** Our problems with the example after these patches. */
export function configProblems(
  role: NodeRole,
  patches: readonly ConfigDocument[],
  changes: InputChanges = {},
): readonly string[] {
  const { documents, talosVersion } = describePatchedConfig(role, patches, changes);
  return validateDocuments(documents, { role, talosVersion });
}

/** The same configuration, valid or not, as a file. */
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

/** Expects that our validation rejects each patch, and talosctl as well where it can detect the problem. */
export function itRejectsPatches(cases: readonly RejectedPatch[], talosVersion: '1.13.9' | '1.14.0' = '1.13.9'): void {
  const changes = { talosVersion };
  it.each(cases)('$what', ({ role = 'controlplane', patch, problem }) => {
    expect(configProblems(role, [patch], changes).join('\n')).toContain(problem);
  });
  const visible = cases.filter(({ onlyWe }) => !onlyWe);
  const withOne = talosVersion === '1.14.0' ? describeWithTalosctl114 : describeWithTalosctl;
  withOne((talosctl) => {
    it.each(visible)('rejects it, too: $what', ({ role = 'controlplane', patch }) => {
      expect(validateWithTalosctl(talosctl, 'metal', renderPatchedConfig(role, [patch], changes))).not.toBe('');
    });
  });
}
