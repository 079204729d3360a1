import { afterAll, beforeAll, expect, it } from 'vitest';
import { startKubeWithCrds } from '../../../test/support/harness/kube-with-crds.ts';
import { ClusterRoleBinding } from '../../kube/core-types.ts';
import { ensureReaderBinding, readerGroup } from './reader-binding.ts';

const key = { name: 'cluster-provider-talos-readers' };
const { signal } = new AbortController();
let cluster: Awaited<ReturnType<typeof startKubeWithCrds>>;
beforeAll(async () => {
  cluster = await startKubeWithCrds();
});
afterAll(async () => await cluster.close());

it('is created once, and refused with other rights', async () => {
  const { kube } = cluster;
  await ensureReaderBinding(kube, signal);
  const made = await kube.get(ClusterRoleBinding, key);
  expect(made).toMatchObject({ roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [{ name: readerGroup }] });
  await ensureReaderBinding(kube, signal);
  expect(await kube.get(ClusterRoleBinding, key)).toEqual(made);
  await kube.merge(ClusterRoleBinding, key, { subjects: [] });
  await expect(ensureReaderBinding(kube, signal)).rejects.toThrow(
    /--role: ClusterRoleBinding .* Delete it, or use --group/,
  );
});
