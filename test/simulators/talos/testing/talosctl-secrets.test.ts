import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { formatSecretsBundle, parseSecretsBundle } from '../../../../src/talos/secrets/secrets-bundle-file.ts';
import { missingPeers } from '../../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { runTalosctl, talosctl, talosctl114 } from '../../../talos/talosctl.ts';
import { decodeConfig } from '../../../world/talos/config/decode-config.ts';
import { validateConfig } from '../../../world/talos/config/validate-config.ts';
import { waitUntilDefined } from './talos-test-bed.ts';
import {
  awaitNodesReady,
  bootstrapCluster,
  exampleSecretsBundle,
  nodeNamesOf,
  renderProductConfig,
  renderProductTalosconfig,
  startTalosctlFixture,
  type TalosctlFixture,
} from './talosctl-fixture.ts';

const productBundle = async (): Promise<string> => formatSecretsBundle(await exampleSecretsBundle()).reveal();
const talosctlBundle = (binary: string) => async () =>
  runTalosctl(binary, ['gen', 'secrets', '-o', 's.yaml'], {}, 's.yaml');

/** talosctl can take over a cluster or create it: talosctl and the product must interpret the same secrets equally. */
describe.each([
  { whose: 'ours', binary: talosctl, version: '1.13.9', make: productBundle },
  { whose: 'of talosctl', binary: talosctl, version: '1.13.9', make: talosctlBundle(talosctl ?? '') },
  { whose: 'of talosctl 1.14', binary: talosctl114, version: '1.14.0', make: talosctlBundle(talosctl114 ?? '') },
])('with secrets $whose', ({ binary, version, make }) => {
  const missing = missingPeers(version.startsWith('1.14') ? 'talosctl-1.14' : 'talosctl');
  describeUnlessMissing('configurations and clients of either side', missing, () => {
    let fixture: TalosctlFixture;
    const nodes: string[] = [];

    beforeAll(async () => {
      fixture = await startTalosctlFixture(binary ?? '', 0.004);
      const text = await make();
      fixture.file('secrets.yaml', text);
      const bundle = parseSecretsBundle(new SecretString(text));
      const first = fixture.world.nextAddress();
      const factory = `${fixture.world.factory.place}/nocloud-installer/${'a'.repeat(64)}:v${version}`;
      const install = ['--install-disk', '/dev/vda', '--install-image', factory, '--kubernetes-version', '1.36.3'];
      const outputs = ['--output-types', 'controlplane,talosconfig', '--output', '.'];
      const secrets = ['--with-secrets', 'secrets.yaml'];
      await fixture.says('gen', 'config', 'example', `https://${first}:6443`, ...secrets, ...install, ...outputs);
      const config = readFileSync(join(fixture.folder, 'controlplane.yaml'), 'utf8');
      nodes.push(fixture.start('theirs', () => config, version));
      nodes.push(
        fixture.start('ours', (place) => renderProductConfig(bundle, place, { endpoint: first, version }), version),
      );
      fixture.file('ours.talosconfig', await renderProductTalosconfig(bundle, ...nodes));
    });
    afterAll(() => fixture?.close());

    it.each(['talosconfig', 'ours.talosconfig'])(
      'authorize %s on every node, and from one node to the other',
      async (client) => {
        for (const endpoint of nodes) {
          for (const node of nodes) {
            const where = ['--talosconfig', client, '--endpoints', endpoint, '--nodes', node];
            const text = await waitUntilDefined('an answer', async () => {
              const outcome = await fixture.run(...where, 'version', '--short');
              return outcome.code === 0 && outcome.text;
            });
            expect(text).toMatch(new RegExp(`NODE: +${node}\\n\\tTag: +v${version.replaceAll('.', '\\.')}`));
          }
        }
      },
    );

    it('make one etcd and one Kubernetes, which accepts the administrator', async () => {
      const [first = ''] = nodes;
      await bootstrapCluster(fixture, 'talosconfig', first);
      await awaitNodesReady(fixture, 'theirs', 'ours');
      const where = ['--talosconfig', 'ours.talosconfig', '--nodes', first];
      expect((await fixture.says(...where, 'etcd', 'members')).match(/:2379 +false/g)).toHaveLength(2);
      await fixture.says(...where, 'kubeconfig', 'kubeconfig');
      expect(await nodeNamesOf(fixture, 'kubeconfig')).toEqual(['ours', 'theirs']);
    });
  });
});

describeUnlessMissing('configurations that talosctl makes of our secrets', missingPeers('talosctl'), () => {
  it.for([
    ['1.12', talosctl, '1.35.4', 12],
    ['1.13', talosctl, '1.36.3', 13],
    ['1.14', talosctl114, '1.36.3', 14],
  ] as const)('are accepted by nodes in the form of %s', async ([version, binary, kubernetes, minor], { skip }) => {
    if (!binary) return skip(missingPeers('talosctl-1.14'));
    const secrets = await productBundle();
    for (const type of ['controlplane', 'worker']) {
      const form = ['--talos-version', `v${version}`, '--kubernetes-version', kubernetes];
      const output = ['--with-secrets', 's.yaml', '--output-types', type, '--output', 'out.yaml'];
      const args = ['gen', 'config', 'example', 'https://10.0.0.1:6443', ...form, ...output];
      const text = runTalosctl(binary, args, { 's.yaml': secrets }, 'out.yaml');
      const context = { minor, version: `${version}.0`, mode: 'cloud', installed: false, selectorFits: () => true };
      expect(validateConfig(decodeConfig(text, minor), { ...context, mode: 'cloud' }).errors).toEqual([]);
    }
  });
});
