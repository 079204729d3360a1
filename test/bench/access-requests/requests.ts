import { openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { RecordedVersion } from '../../e2e/support/observation/object-recorder.ts';
import type { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';

/** As many as the controller works on at a time. */
const concurrency = 16;
export const configMapReadRules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
/** The one that access is asked for. */
export const targetCluster: NamespacedRef = { namespace: 'bench', name: 'target' };

/** Does `work` for each number below `count`, a few at a time. */
export async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** A request in the state in which the operator hands it over: the real one hands over fewer than two a second. */
export async function createPendingRequest(
  { platform, things }: Testbed,
  name: string,
  provider = 'talos',
): Promise<AccessRequest> {
  const ref = { namespace: 'bench', name };
  const made = await platform.create(AccessRequest, {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'AccessRequest',
    metadata: { ...ref, labels: { [openmcpKeys.provider]: provider, [openmcpKeys.profile]: things.profileOf('home') } },
    spec: { clusterRef: targetCluster, token: { permissions: [{ rules: configMapReadRules }] } },
  });
  const status = { phase: 'Pending', observedGeneration: made.metadata.generation ?? 1 };
  return await platform.merge(AccessRequest, ref, { status }, { subresource: 'status' });
}

/** Makes so many requests and waits until all are granted. Milliseconds. */
export async function createAndAwaitGrants(stage: Testbed, count: number, prefix: string): Promise<number> {
  const { sightings } = stage.recorder;
  let read = sightings.length;
  const startedAt = performance.now();
  await inParallel(count, async (i) => {
    await createPendingRequest(stage, `${prefix}-${i}`);
  });
  // What was written down is asked, not the API server, which has enough to do.
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

/** Makes the cluster, with a provider that runs. */
export async function createTargetCluster({ things, platform }: Testbed): Promise<void> {
  await things.credentials();
  await things.config('home');
  await things.cluster(targetCluster);
  const isReady = async () => (await platform.get(Cluster, targetCluster)).status?.phase === 'Ready';
  await eventually('it is ready', isReady, 120);
}

/** Whether it works, by what it has logged since then. */
export const hasStartedControllers = ({ provider }: Testbed, since: number): boolean =>
  provider.lines.slice(since).some((line) => line.includes('controller starts'));
