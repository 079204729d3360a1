import { expect, it } from 'vitest';
import { anInstance } from '../../../../test/support/fixtures/builders.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Services } from '../../shared/services.ts';
import { isClusterLost } from './lost-cluster.ts';

const ref = { namespace: 'shop', name: 'main', uid: 'uid-main' };
const providerRef = { name: anInstance.provider, environment: anInstance.environment, namespace: anInstance.namespace };
const controlPlane = (lost?: boolean, more: object = {}) => ({
  spec: { clusterRef: ref, providerRef, role: 'controlplane', ...more },
  ...(lost === undefined ? {} : { status: { lost } }),
});
const evaluate = async (...items: readonly object[]): Promise<boolean> => {
  const kube = { list: async () => await Promise.resolve({ items }) } as unknown as KubeClient;
  const stores = { clusters: { get: () => ({ metadata: ref }) } } as unknown as Services['stores'];
  return await isClusterLost({ ...anInstance, kube, stores }, ref, new AbortController().signal);
};

it('C72: a cluster is lost if each of its control planes was observed to be gone with its disk', async () => {
  expect(await evaluate(controlPlane(true), controlPlane(true))).toBe(true);
  expect(await evaluate(controlPlane(true), controlPlane(undefined, { role: 'worker' }))).toBe(true);
  expect(await evaluate(controlPlane(true), controlPlane(undefined, { clusterRef: { ...ref, name: 'other' } }))).toBe(
    true,
  );
});

it.each<[string, readonly object[]]>([
  ['one control plane may return', [controlPlane(true), controlPlane(false)]],
  ['one control plane was not observed yet', [controlPlane(true), controlPlane()]],
  ['there are no control planes', []],
  ['only workers are lost', [controlPlane(true, { role: 'worker' })]],
  [
    'the lost control planes belong to another cluster',
    [controlPlane(true, { clusterRef: { ...ref, namespace: 'other' } })],
  ],
  [
    'the lost control planes belong to an earlier cluster of its name',
    [controlPlane(true, { clusterRef: { ...ref, uid: 'before' } })],
  ],
])('C72: it is not lost when %s', async (_, items) => {
  expect(await evaluate(...items)).toBe(false);
});
