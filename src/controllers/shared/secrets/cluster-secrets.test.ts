import { expect, it } from 'vitest';
import { isReclaimed } from '../../../../test/support/is-reclaimed.ts';
import { exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import type { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { formatSecretsBundle } from '../../../talos/secrets/secrets-bundle-file.ts';
import { readClusterSecrets, secretsBundleKey } from './cluster-secrets.ts';

const secretOf = (text: string): KubeSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'any' },
  data: { [secretsBundleKey]: Buffer.from(text).toString('base64') },
});

const weakly = (read: () => object): WeakRef<object> => new WeakRef(read());

it('the bundle of an idle cluster is not kept in memory, and can be read again', async () => {
  const bundle = await exampleSecretsBundle();
  const object = secretOf(formatSecretsBundle(bundle).reveal());
  const read = () => readClusterSecrets(object).bundle;
  expect(await isReclaimed(weakly(read))).toBe(true);
  expect(read().cluster.id).toBe(bundle.cluster.id);
});

it('a damaged bundle fails when its Secret is read, and not at its first use', () => {
  expect(() => readClusterSecrets(secretOf('cluster: {}'))).toThrow('secrets');
});
