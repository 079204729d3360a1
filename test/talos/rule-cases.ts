import { beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigDocument } from '../../src/talos/config/document.ts';
import { findProblems } from '../../src/talos/config/rules.ts';
import { describeMachineConfig, type MachineConfigInput } from '../../src/talos/machine-config.ts';
import type { SecretsBundle } from '../../src/talos/secrets.ts';
import { exampleBundle, exampleInput } from './example.ts';
import { validate, withTalosctl, withTalosctl114 } from './talosctl.ts';

export type Role = 'controlplane' | 'worker';

/** A patch that Talos would not live with, or not as it is meant. */
export interface Refused {
  readonly what: string;
  readonly role?: Role;
  readonly patch: ConfigDocument;
  /** A part of what we say. */
  readonly problem: string;
  /** talosctl cannot see it: only the node, Kubernetes or a later boot would. */
  readonly onlyWe?: boolean;
}

/** Patches that Talos lives with. */
export interface Accepted {
  readonly what: string;
  readonly role?: Role;
  readonly patches: readonly ConfigDocument[];
}

/** In a patch: takes the field away. */
export const gone = { $patch: 'delete' };

/** A document of Talos besides the main one. */
export const document = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

type Changes = Partial<MachineConfigInput>;
let bundle: SecretsBundle;

/** To be called once in a file that judges patches. */
export const prepareRules = (): void =>
  beforeAll(async () => {
    bundle = await exampleBundle();
  });

function patched(role: Role, patches: readonly ConfigDocument[], changes: Changes) {
  const named = patches.map((one, i) => ({ from: `patches[${i}]`, document: one }));
  const input = exampleInput(bundle, { role, patches: named, ...changes });
  return { documents: describeMachineConfig(input), talosVersion: input.talosVersion };
}

/** What we have against the example with these patches. */
export function problems(role: Role, patches: readonly ConfigDocument[], changes: Changes = {}): readonly string[] {
  const { documents, talosVersion } = patched(role, patches, changes);
  return findProblems(documents, { role, talosVersion });
}

/** The same configuration, right or wrong, as a file. */
export const textOf = (role: Role, patches: readonly ConfigDocument[], changes: Changes = {}): string =>
  patched(role, patches, changes)
    .documents.map((one) =>
      stringify(one, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' }),
    )
    .join('---\n');

/** Each is refused by us, and by talosctl as far as it can see it. */
export function refuse(cases: readonly Refused[], talosVersion: '1.13.9' | '1.14.0' = '1.13.9'): void {
  const changes = { talosVersion };
  it.each(cases)('$what', ({ role = 'controlplane', patch, problem }) => {
    expect(problems(role, [patch], changes).join('\n')).toContain(problem);
  });
  const visible = cases.filter(({ onlyWe }) => !onlyWe);
  const withOne = talosVersion === '1.14.0' ? withTalosctl114 : withTalosctl;
  withOne((talosctl) => {
    it.each(visible)('refuses too: $what', ({ role = 'controlplane', patch }) => {
      expect(validate(talosctl, 'metal', textOf(role, [patch], changes))).not.toBe('');
    });
  });
}
