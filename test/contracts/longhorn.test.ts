import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ProviderConfigSpec } from '../../src/api/provider-config-spec.ts';
import { describeNodeConfig } from '../../src/controllers/machine/node-config.ts';
import { renderMachineConfig } from '../../src/talos/config/machine-config.ts';
import type { SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { exampleNodesOf } from '../support/arbitrary/example-nodes.ts';
import { exampleSecretsBundle } from '../talos/example-config.ts';
import { describeWithTalosctl, missingTalosctlFor, talosctlFor, validateWithTalosctl } from '../talos/talosctl.ts';
import { readProjectFile } from './source-tree.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const sample = parseAllDocuments(readProjectFile('config/samples/truenas.yaml'))
  .map((document) => document.toJS())
  .find(({ kind }) => kind === 'ProviderConfig').spec;
const [, block = ''] =
  /#### Longhorn\n[^#]*?```yaml\n(.*?)```/s.exec(readProjectFile('docs/platforms/truenas.md')) ?? [];
const recipe = parse(block);

/** The sample with the recipe applied. */
const configFor = (version: string): string => {
  const talos = { ...sample.talos, ...recipe.talos, version };
  const truenas = { ...sample.truenas, ...recipe.truenas };
  const spec = ProviderConfigSpec.parse({ ...sample, talos, truenas });
  const [node] = exampleNodesOf(spec);
  if (!node) throw new Error('a ProviderConfig without control planes');
  return renderMachineConfig(describeNodeConfig({ spec, bundle, trust: [], ...node })).reveal();
};

describe('the recipe for Longhorn', () => {
  test('T25: has its extensions, and a volume that the kubelet sees at the path of Longhorn', () => {
    expect(recipe.talos.extensions).toEqual(
      expect.arrayContaining(['siderolabs/iscsi-tools', 'siderolabs/util-linux-tools']),
    );
    const documents = parseAllDocuments(configFor('1.13.9')).map((document) => document.toJS());
    const volume = documents.find(({ kind }) => kind === 'UserVolumeConfig');
    const [mount] = documents[0].machine.kubelet.extraMounts;
    expect(mount).toMatchObject({ source: `/var/mnt/${volume.name}`, destination: `/var/mnt/${volume.name}` });
    expect(mount.options).toContain('rshared');
  });

  describeWithTalosctl(() => {
    test.for(['1.12.4', '1.13.9', '1.14.0'])('T25: is accepted by Talos %s', (version, { skip }) => {
      const binary = talosctlFor(version) ?? skip(missingTalosctlFor(version));
      expect(validateWithTalosctl(binary, 'cloud', configFor(version))).toBe('');
    });
  });
});
