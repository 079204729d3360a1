import { expect, it } from 'vitest';
import { isCollected } from '../../test/support/collected.ts';
import { exampleBundle } from '../../test/talos/example.ts';
import type { Secret as KubeSecret } from '../kube/core-types.ts';
import { formatSecretsBundle } from '../talos/secrets-file.ts';
import { bundleKey, readClusterSecrets } from './cluster-secrets.ts';

const secretOf = (text: string): KubeSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'any' },
  data: { [bundleKey]: Buffer.from(text).toString('base64') },
});

const weakly = (read: () => object): WeakRef<object> => new WeakRef(read());

it('the bundle of a cluster that nobody works on is not held, and is there again for whoever does', async () => {
  const bundle = await exampleBundle();
  const object = secretOf(formatSecretsBundle(bundle).reveal());
  const read = () => readClusterSecrets(object).bundle;
  expect(await isCollected(weakly(read))).toBe(true);
  expect(read().cluster.id).toBe(bundle.cluster.id);
});

it('a damaged bundle is told of by whoever reads its Secret, not only by whoever needs it', () => {
  expect(() => readClusterSecrets(secretOf('cluster: {}'))).toThrow('secrets');
});
