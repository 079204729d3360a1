import { expect, it } from 'vitest';
import { Secret } from '../../../src/kube/core-types.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { startPeerProcess } from '../../peers/peer-process.ts';
import { restartNodesByRollout, upgradeKubernetes } from '../support/access/change-nodes.ts';
import { publishedHelpers, readerRole } from '../support/access/published.ts';
import { ConfigMap, withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingPeers('argocd-clusters');
if (missing) it('Argo CD reads a published cluster', ({ skip }) => skip(missing));
else withArgoCd();

function withArgoCd(): void {
  const open = startTestbed({ subnet: '127.43.133', speed: 60 });
  const cluster = { namespace: 'shop', name: 'main' };
  const { name, secret, makeReaderRole, isPublished } = publishedHelpers(open, cluster);

  prepareTestbed(open, async ({ objects }) => {
    await objects.credentials();
    await objects.ensureNamespace('fleet');
    const argoCD = { namespace: 'fleet', clusterRole: readerRole, labels: { env: 'test' } };
    await objects.config('home', { change: (spec) => Object.assign(spec, { publish: { argoCD } }) });
    await objects.cluster(cluster);
    await isPublished('False', 'ClusterRoleMissing');
    await makeReaderRole();
    await isPublished('True');
  });

  /** What Argo CD reads in the Secret, and what the cluster answers to it. */
  const readCluster = async () => {
    const path = findPeer('argocd-clusters') ?? '';
    const env = { ...process.env, KUBECONFIG: open().world.kubeconfig };
    const reader = startPeerProcess({ path, args: ['--namespace', 'fleet'], env });
    await reader.exited;
    const lines = reader
      .tail()
      .split('\n')
      .filter((line) => line.startsWith('{"name"'));
    expect(lines, reader.tail()).toHaveLength(1);
    return JSON.parse(lines[0] ?? '') as { readonly problem?: string; readonly configMaps?: number };
  };
  const makeConfigMap = (called: string) =>
    withAdminClient(open(), cluster, (admin) =>
      admin.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name: called },
      }),
    );

  it('Argo CD reads the cluster Secret, and the cluster answers it', async () => {
    await makeConfigMap('first');
    const answer = await readCluster();
    const { status } = await open().objects.getCluster(cluster);
    expect(answer.problem).toBeUndefined();
    expect(answer).toMatchObject({ name, server: status?.endpoints?.[0]?.url, labels: { env: 'test' } });
    expect(answer.configMaps).toBeGreaterThan(0);
  });

  it('reads the same after every node has restarted, and after an upgrade of Kubernetes: nothing was written', async () => {
    const { metadata } = await secret('-argocd');
    const before = await readCluster();
    await restartNodesByRollout(open(), cluster);
    await upgradeKubernetes(open(), cluster, '1.36.1');
    await makeConfigMap('second');
    expect(await readCluster()).toEqual({ ...before, configMaps: (before.configMaps ?? Number.NaN) + 1 });
    const versions = open().recorder.of(Secret, { namespace: 'fleet', name: metadata.name });
    expect(versions.at(-1)?.object.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });
}
