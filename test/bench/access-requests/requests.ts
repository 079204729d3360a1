import { openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { RecordedVersion } from '../../e2e/support/observation/object-recorder.ts';
import type { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';

/** The number of requests that the controller reconciles at a time. */
const concurrency = 16;
export const configMapReadRules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
/** The Cluster of the requests. */
export const targetCluster: NamespacedRef = { namespace: 'bench', name: 'target' };

/** Runs `work` for each number below `count`, a few at a time. */
export async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const priority = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: concurrency }, priority));
}

/** A request in the state in which the operator leaves it: the real operator handles fewer than two a second. */
export async function createPendingRequest(
  { platform, objects }: Testbed,
  name: string,
  provider = 'talos',
): Promise<AccessRequest> {
  const ref = { namespace: 'bench', name };
  const made = await platform.create(AccessRequest, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'AccessRequest',
    metadata: {
      ...ref,
      labels: { [openmcpKeys.provider]: provider, [openmcpKeys.profile]: objects.profileOf('home') },
    },
    spec: { clusterRef: targetCluster, token: { permissions: [{ rules: configMapReadRules }] } },
  });
  const status = { phase: 'Pending', observedGeneration: made.metadata.generation ?? 1 };
  return await platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
}

/** Creates this many requests and waits until all are granted. Returns milliseconds. */
export async function createAndAwaitGrants(testbed: Testbed, count: number, prefix: string): Promise<number> {
  const { sightings } = testbed.recorder;
  let read = sightings.length;
  const startedAt = performance.now();
  await inParallel(count, async (i) => {
    await createPendingRequest(testbed, `${prefix}-${i}`);
  });
  // Reads the recorded requests instead of loading the API server.
  const granted = new Set<string>();
  const allGranted = (): boolean => {
    for (const { object } of sightings.slice(read) as RecordedVersion<AccessRequest>[]) {
      const { name } = object.metadata;
      if (object.status?.phase === 'Granted' && name.startsWith(`${prefix}-`)) granted.add(name);
    }
    read = sightings.length;
    return granted.size === count;
  };
  await eventually('all are granted', allGranted, 900);
  return performance.now() - startedAt;
}

/** Creates the cluster with a running provider. */
export async function createTargetCluster({ objects, platform }: Testbed): Promise<void> {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(targetCluster);
  const isReady = async () => (await platform.get(Cluster, targetCluster)).status?.phase === 'Ready';
  await eventually('it is ready', isReady, 120);
}

/** Whether its controllers run, according to its log since then. */
export const hasStartedControllers = ({ provider }: Testbed, since: number): boolean =>
  provider.lines.slice(since).some((line) => line.includes('controller starts'));
