import { accessSecretName, finalizers, openmcp } from '../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, Secret, ServiceAccount } from '../../src/kube/core-types.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { Sighting } from '../e2e/support/recorder.ts';
import { Stage } from '../e2e/support/stage.ts';
import { asAdmin } from '../e2e/support/workload.ts';
import { missingForRealKube } from '../peers/kube-apiserver.ts';
import { missingForRealWorkload } from '../world/talos/workload/real.ts';
import { type Bench, type Figure, ratio } from './figure.ts';

/** How many AccessRequests are made in one go. */
const counts = [200, 1000];
/** Made before, by either side: what has just been started is not yet compiled. */
const warmUp = 50;
/** As many as the controller works on at a time. */
const atOnce = 16;
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
/** Nodes have addresses of this subnet. */
const place = { subnet: '127.42.201' };
const cluster: NamespacedRef = { namespace: 'bench', name: 'target' };

/** Does `work` for each number below `count`, a few at a time. */
async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** A request in the state in which the operator hands it over: the real one hands over fewer than two a second. */
async function ask({ platform, things }: Stage, name: string): Promise<AccessRequest> {
  const ref = { namespace: 'bench', name };
  const made = await platform.create(AccessRequest, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'AccessRequest',
    metadata: { ...ref, labels: { [openmcp.provider]: 'talos', [openmcp.profile]: things.profileOf('home') } },
    spec: { clusterRef: cluster, token: { permissions: [{ rules }] } },
  });
  const status = { phase: 'Pending', observedGeneration: made.metadata.generation ?? 1 };
  return await platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
}

/** The calls that nobody can do without, and nothing else: no look, no cache, no event. */
async function bareLoop(stage: Stage, admin: KubeClient, count: number, prefix = 'bare'): Promise<number> {
  const startedAt = performance.now();
  await inParallel(count, async (i) => {
    const name = `${prefix}-${i}`;
    const ref = { namespace: 'bench', name };
    const { metadata } = await ask(stage, name);
    await stage.platform.merge(AccessRequest, ref, { metadata: { finalizers: [finalizers.accessRequest] } });
    await admin.create(ServiceAccount, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'bare', name },
    });
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
    await admin.create(ClusterRole, { ...role, kind: 'ClusterRole', rules });
    await admin.create(ClusterRoleBinding, {
      ...role,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'bare', name }],
    });
    const { token } = await admin.requestToken({ namespace: 'bare', name }, { expirationSeconds: 86_400 });
    await stage.platform.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'bench', name: accessSecretName(ref) },
      data: { token: Buffer.from(token.reveal()).toString('base64') },
    });
    const status = { phase: 'Granted', observedGeneration: metadata.generation ?? 1 };
    await stage.platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
  });
  return performance.now() - startedAt;
}

async function ours(stage: Stage, count: number, prefix = 'ours'): Promise<number> {
  const { sightings } = stage.recorder;
  let read = sightings.length;
  const startedAt = performance.now();
  await inParallel(count, async (i) => {
    await ask(stage, `${prefix}-${i}`);
  });
  // What was written down is asked, not the API server, which has enough to do.
  const granted = new Set<string>();
  const allGranted = (): boolean => {
    for (const { object } of sightings.slice(read) as Sighting<AccessRequest>[]) {
      if (object.status?.phase === 'Granted') granted.add(object.metadata.name);
    }
    read = sightings.length;
    return granted.size === count;
  };
  await eventually('all are granted', allGranted, 300);
  return performance.now() - startedAt;
}

/** What the bare loop made, away again. */
async function clear(stage: Stage, admin: KubeClient, count: number): Promise<void> {
  await inParallel(count, async (i) => {
    const name = `bare-${i}`;
    const ref = { namespace: 'bench', name };
    await stage.platform.merge(AccessRequest, ref, { metadata: { finalizers: [] } });
    await stage.platform.remove(AccessRequest, ref);
    await stage.platform.remove(Secret, { namespace: 'bench', name: accessSecretName(ref) });
    await admin.remove(ServiceAccount, { namespace: 'bare', name });
    await admin.remove(ClusterRole, { name });
    await admin.remove(ClusterRoleBinding, { name });
  });
}

/** A cluster that is ready, and the provider stopped. */
async function prepare(stage: Stage): Promise<void> {
  stage.provider.start();
  await stage.things.credentials();
  await stage.things.config('home');
  await stage.things.cluster(cluster);
  const isReady = async () => (await stage.platform.get(Cluster, cluster)).status?.phase === 'Ready';
  await eventually('it is ready', isReady, 120);
  await stage.provider.stop();
}

/** So many at once on API servers of their own: the bare calls, then the provider. */
async function compare(count: number, say: (line: string) => void): Promise<Figure> {
  const stage = await Stage.open({
    ...place,
    platform: 'real',
    workload: 'real',
    provider: { asProgram: { speed: 1, verbosity: 'info' } },
  });
  try {
    await prepare(stage);
    return await asAdmin(stage, cluster, async (admin) => {
      await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bare' } });
      await bareLoop(stage, admin, warmUp, 'bare-before');
      const bare = await bareLoop(stage, admin, count);
      await clear(stage, admin, count);
      const logged = stage.provider.lines.length;
      stage.provider.start();
      await eventually('it leads', () =>
        stage.provider.lines.slice(logged).some((line) => line.includes('controller starts')),
      );
      await ours(stage, warmUp, 'before');
      const mine = await ours(stage, count);
      const seconds = `${(mine / 1000).toFixed(1)} s ÷ ${(bare / 1000).toFixed(1)} s`;
      say(`${count}: ${seconds}`);
      const what = `${count} AccessRequests from created to granted ÷ a bare loop of the unavoidable calls`;
      return ratio(what, mine, bare, 1.25, seconds);
    });
  } finally {
    await stage.close();
  }
}

/** Access for many at once, on real API servers, against the bare calls on the same. */
export const grants: Bench = {
  name: 'Granting access',
  missing: missingForRealKube(true) ?? missingForRealWorkload(),
  async measure(say) {
    const figures: Figure[] = [];
    for (const count of counts) figures.push(await compare(count, say));
    return figures;
  },
};
