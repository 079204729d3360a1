import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { group } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { RequestCounter } from '../../support/request-counter.ts';
import { waitWithProgress } from '../actions.ts';
import type { DemoContext } from '../demo-context.ts';
import { DemoFailed } from '../wait-for-result.ts';
import { labels, newVersions, oldVersions, type UpgradeScenario, workerPool } from './upgrade-scenario.ts';
import { deployWorkload } from './workload.ts';
import { openWorkloadCluster } from './workload-cluster.ts';

/** Maximum time of one change, in seconds. */
const changeSeconds = 180;

/** One change, as a user makes it. */
interface Change {
  readonly heading: string;
  readonly type: ResourceType;
  readonly spec: object;
  /** Whether the Machines show it. */
  isDone(machines: readonly Machine[], cluster: Cluster): boolean;
}

/**
 * Changes a running cluster in every way that a user would: a label, Talos, Kubernetes, the size of a pool. Meanwhile a
 * client counts the requests that it loses.
 */
export async function upgradeCluster(testbed: DemoContext, objects: readonly KubeObject[]): Promise<void> {
  const { screen, story } = testbed;
  const keyOf = ({ kind }: ResourceType): NamespacedRef => {
    const object = objects.find((one) => one.kind === kind);
    if (!object) throw new DemoFailed(`The upgrade needs a ${kind}.`);
    return { namespace: object.metadata.namespace ?? '', name: object.metadata.name };
  };
  screen.chapter('A workload, and a client that asks the API server ten times a second');
  const workload = await openWorkloadCluster(testbed, keyOf(Cluster));
  screen.step(await deployWorkload(workload.session.client));
  const counter = new RequestCounter(workload.kubeconfigs);
  try {
    for (const change of changesOf(story.upgrade)) await makeChange(testbed, keyOf, change);
  } finally {
    await counter.stop();
    await workload.session.close();
  }
  const { total, lost, slowestMs } = counter.counts;
  screen.step(`the client sent ${total} requests and lost ${lost}; the slowest took ${slowestMs} ms`);
  if (lost > 0) throw new DemoFailed(`${lost} requests were lost.`);
}

async function makeChange(
  testbed: DemoContext,
  keyOf: (type: ResourceType) => NamespacedRef,
  { heading, type, spec, isDone }: Change,
): Promise<void> {
  const { screen, session } = testbed;
  screen.chapter(heading);
  await session.client.merge(type, keyOf(type), { spec });
  await waitWithProgress(testbed, heading, changeSeconds, async () => {
    const { items } = await session.client.list(Machine);
    return isDone(items, await session.client.get(Cluster, keyOf(Cluster))) || undefined;
  });
  screen.say(`\n${await session.table(`/apis/${group}/v1alpha1/machines`)}`);
}

const changesOf = ({ size, talos }: UpgradeScenario): readonly Change[] => [
  {
    heading: 'A label of the worker pool',
    ...{ type: ProviderConfig as ResourceType, spec: { workerPools: [workerPool(size, 2, labels)] } },
    isDone: (machines, cluster) => machines.filter(isWorker).every(isConfigured) && isUpToDate(cluster),
  },
  {
    heading: `Talos ${oldVersions.talos} becomes ${newVersions.talos}`,
    ...{ type: ProviderConfig as ResourceType, spec: talos(newVersions.talos) },
    isDone: (machines) => machines.every(({ status }) => status?.applied?.talosVersion === newVersions.talos),
  },
  {
    heading: `Kubernetes ${oldVersions.kubernetes} becomes ${newVersions.kubernetes}`,
    ...{ type: Cluster as ResourceType, spec: { kubernetes: { version: newVersions.kubernetes } } },
    isDone: (machines, cluster) =>
      machines.every(({ status }) => status?.applied?.kubernetesVersion?.startsWith(newVersions.kubernetes)) &&
      isUpToDate(cluster),
  },
  {
    heading: 'One worker less',
    ...{ type: ProviderConfig as ResourceType, spec: { workerPools: [workerPool(size, 1, labels)] } },
    isDone: (machines) => machines.filter(isWorker).length === 1,
  },
];

const isWorker = ({ spec }: Machine): boolean => spec.role === 'worker';
const isConfigured = ({ spec, status }: Machine): boolean =>
  spec.revision !== undefined && spec.revision === status?.applied?.revision;
const isUpToDate = ({ status }: Cluster): boolean => isConditionTrue(status?.conditions, 'UpToDate');
