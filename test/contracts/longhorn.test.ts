import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ProviderConfigSpec } from '../../src/api/provider-config-spec.ts';
import { describeNodeConfig } from '../../src/controllers/machine/node-config.ts';
import { renderMachineConfig } from '../../src/talos/machine-config.ts';
import type { SecretsBundle } from '../../src/talos/secrets.ts';
import { nodesOf } from '../support/arbitrary/nodes.ts';
import { exampleBundle } from '../talos/example.ts';
import { noTalosctlFor, talosctlFor, validate, withTalosctl } from '../talos/talosctl.ts';
import { read } from './tree.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleBundle();
});

const sample = parseAllDocuments(read('config/samples/truenas.yaml'))
  .map((document) => document.toJS())
  .find(({ kind }) => kind === 'ProviderConfig').spec;
const [, block = ''] = /#### Longhorn\n[^#]*?```yaml\n(.*?)```/s.exec(read('docs/truenas.md')) ?? [];
const recipe = parse(block);

/** The sample, with the recipe in its place. */
const configFor = (version: string): string => {
  const talos = { ...sample.talos, ...recipe.talos, version };
  const truenas = { ...sample.truenas, ...recipe.truenas };
  const spec = ProviderConfigSpec.parse({ ...sample, talos, truenas });
  const [node] = nodesOf(spec);
  if (!node) throw new Error('a ProviderConfig without control planes');
  return renderMachineConfig(describeNodeConfig({ spec, bundle, trust: [], ...node })).reveal();
};

describe('the recipe for Longhorn', () => {
  test('T25: has its extensions, and a volume that the kubelet sees where Longhorn looks', () => {
    expect(recipe.talos.extensions).toEqual(
      expect.arrayContaining(['siderolabs/iscsi-tools', 'siderolabs/util-linux-tools']),
    );
    const documents = parseAllDocuments(configFor('1.13.9')).map((document) => document.toJS());
    const volume = documents.find(({ kind }) => kind === 'UserVolumeConfig');
    const [mount] = documents[0].machine.kubelet.extraMounts;
    expect(mount).toMatchObject({ source: `/var/mnt/${volume.name}`, destination: `/var/mnt/${volume.name}` });
    expect(mount.options).toContain('rshared');
  });

  withTalosctl(() => {
    test.for(['1.12.4', '1.13.9', '1.14.0'])('T25: is taken by Talos %s', (version, { skip }) => {
      const binary = talosctlFor(version) ?? skip(noTalosctlFor(version));
      expect(validate(binary, 'cloud', configFor(version))).toBe('');
    });
  });
});
