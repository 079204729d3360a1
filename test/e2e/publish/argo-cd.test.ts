import { expect, it } from 'vitest';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { startPeerProcess } from '../../peers/peer-process.ts';
import { publishedHelpers, readerRole } from '../support/access/published.ts';
import { ConfigMap, withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingPeers('argocd-clusters');
if (missing) it('Argo CD reads a published cluster', ({ skip }) => skip(missing));
else withArgoCd();

function withArgoCd(): void {
  const open = startTestbed({ subnet: '127.43.133', speed: 60 });
  const cluster = { namespace: 'shop', name: 'main' };
  const { name, makeReaderRole, isPublished } = publishedHelpers(open, cluster);

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

  it('Argo CD reads the cluster Secret, and the cluster answers it', async () => {
    await withAdminClient(open(), cluster, (admin) =>
      admin.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name: 'first' },
      }),
    );
    const path = findPeer('argocd-clusters') ?? '';
    const env = { ...process.env, KUBECONFIG: open().world.kubeconfig };
    const reader = startPeerProcess({ path, args: ['--namespace', 'fleet'], env });
    await reader.exited;
    const lines = reader
      .tail()
      .split('\n')
      .filter((line) => line.startsWith('{"name"'));
    expect(lines, reader.tail()).toHaveLength(1);
    const { status } = await open().objects.getCluster(cluster);
    const answer = JSON.parse(lines[0] ?? '') as { problem?: string };
    expect(answer.problem).toBeUndefined();
    expect(answer).toMatchObject({ name, server: status?.endpoints?.[0]?.url, labels: { env: 'test' } });
    expect((answer as { configMaps?: number }).configMaps).toBeGreaterThan(0);
  });
}
