import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import {
  describeWithTalosctl,
  missingTalosctlFor,
  talosctlFor,
  validateWithTalosctl,
} from '../../../../test/talos/talosctl.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { renderMachineConfig } from '../machine-config.ts';
import type { ConfigPatch } from '../patch/apply-patches.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const volumes = [
  { name: 'data', device: '/dev/vdb', sizeGiB: 50 },
  { name: 'scratch', device: '/dev/vdd', sizeGiB: 1 },
];
const render = (talosVersion: string, patches: readonly ConfigPatch[] = []): string => {
  const { hardware } = exampleConfigInput(bundle);
  const input = { talosVersion, patches, hardware: { ...hardware, volumes } };
  return renderMachineConfig(exampleConfigInput(bundle, input)).reveal();
};
const userVolumes = (text: string) =>
  parseAllDocuments(text).flatMap((document) => (document.get('kind') === 'UserVolumeConfig' ? [document.toJS()] : []));

describe('volumes of further disks', () => {
  it('S17: are part of the configuration, because Talos otherwise leaves the disks empty', () => {
    expect(userVolumes(render('1.13.9'))).toEqual([
      {
        apiVersion: 'v1alpha1',
        kind: 'UserVolumeConfig',
        name: 'data',
        provisioning: {
          diskSelector: { match: 'disk.dev_path == "/dev/vdb" && disk.size == 50u * GiB' },
          minSize: '51192MiB',
          grow: true,
        },
      },
      expect.objectContaining({ name: 'scratch' }),
    ]);
  });

  it('can be changed by a patch of the same name', () => {
    const patch = { apiVersion: 'v1alpha1', kind: 'UserVolumeConfig', name: 'data', filesystem: { type: 'ext4' } };
    const [data] = userVolumes(render('1.13.9', [{ from: 'talos.patches[0]', document: patch }]));
    expect(data).toMatchObject({ filesystem: { type: 'ext4' }, provisioning: { grow: true } });
  });

  describeWithTalosctl(() => {
    it.for(['1.12.4', '1.13.9', '1.14.0'])('T24: are accepted by Talos %s', (version, { skip }) => {
      const binary = talosctlFor(version) ?? skip(missingTalosctlFor(version));
      for (const mode of ['metal', 'cloud'] as const)
        expect(validateWithTalosctl(binary, mode, render(version))).toBe('');
    });
  });
});
