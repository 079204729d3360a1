import { expect } from 'vitest';
import { type Condition, isConditionTrue } from '../../../../src/api/conditions.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { annotations } from '../../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { readClusterSecrets, secretsBundleKey } from '../../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { Secret } from '../../../../src/kube/core-types.ts';
import { isUpdateOpen } from '../../../../src/talos/update/update-context.ts';
import { eventually as waitFor } from '../../../support/eventually.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../../support/access/workload-cluster.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import type { FaultSweep } from '../fault-sweep.ts';
import { maskIds } from '../mask-ids.ts';
import { isFullSweep } from '../sampling.ts';
import type { Scenario } from '../scenario-run.ts';
import type { StateSnapshot } from '../state-snapshot.ts';
import { stableSnapshot } from './stable-snapshot.ts';
import { triggerReconciles } from './trigger-reconciles.ts';
import { maskMachines, UpdateCallNaming } from './update-call-naming.ts';
import { deployRollingWorkload } from './update-workload.ts';
import { watchNodes } from './watch-nodes.ts';

const clusterRef: NamespacedRef = { namespace: 'shop', name: 'main' };
/** For one phase, with a restart of the provider after each call. */
const patienceSeconds = isFullSweep ? 1200 : 240;
const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, patienceSeconds);

const stability = { seconds: 20, pauseMs: 200 };

/** A change of a running cluster, by the class of its changes. */
export type UpdatePhase = 'live' | 'restart' | 'os' | 'kubernetes' | 'remediation' | 'talosCa' | 'kubernetesCa';

export interface UpdateRolloutOptions {
  readonly controlPlanes: number;
  readonly acts: readonly UpdatePhase[];
  /** Part of the name of the Machine whose Node somebody else has cordoned before, e.g. `cp-1`. */
  readonly cordoned: string;
}

const label = 'example.org/disk';
const liveChange = { machine: { nodeLabels: { [label]: 'fast' } } };
const restartChange = { machine: { env: { http_proxy: 'http://192.0.2.9:3128' } } };
const versions = {
  talos: { from: '1.13.8', to: '1.13.9' },
  kubernetes: { from: '1.35.3', to: '1.35.4' },
} as const;

const changeConfig = ({ platform }: Testbed, spec: object) =>
  platform.merge(ProviderConfig, { name: 'home' }, { spec });

/** What a user does. The patches are a list, so that a later change repeats the earlier one. */
const changes: Readonly<Record<UpdatePhase, (testbed: Testbed) => Promise<unknown>>> = {
  live: (testbed) => changeConfig(testbed, { talos: { patches: [liveChange] } }),
  restart: (testbed) => changeConfig(testbed, { talos: { patches: [liveChange, restartChange] } }),
  os: (testbed) => changeConfig(testbed, { talos: { version: versions.talos.to } }),
  kubernetes: ({ platform }) =>
    platform.merge(Cluster, clusterRef, { spec: { kubernetes: { version: versions.kubernetes.to } } }),
  talosCa: ({ objects }) => objects.annotate(Cluster, clusterRef, { [annotations.rotateCa]: 'talos' }),
  kubernetesCa: ({ objects }) => objects.annotate(Cluster, clusterRef, { [annotations.rotateCa]: 'kubernetes' }),
  // Without the minutes of waiting, which are real.
  remediation: async ({ world: { machines }, objects }) => {
    const node = machines.nodes().find(({ hostname }) => hostname.includes('-work-'));
    machines.hang(node?.name ?? '');
    await objects.annotate(Machine, { name: node?.hostname ?? '' }, { [annotations.remediate]: 'restart' });
  },
};

/**
 * A ready Cluster with one worker and a workload is changed, one class of changes after the other. The snapshot contains
 * the state after each phase. Throws when two nodes were away at the same time.
 */
export const updateRolloutScenario = (options: UpdateRolloutOptions): Scenario => ({
  naming: () => new UpdateCallNaming(),
  play: async (testbed, sweep, expected) => {
    sweep.isPaused = true;
    await createCluster(testbed, options);
    const watch = watchNodes(testbed);
    const rest = triggerReconciles(testbed);
    const shape: Record<string, unknown> = {};
    try {
      for (const act of options.acts) {
        await runPhase(testbed, sweep, act);
        shape[act] = await stableSnapshot(
          () => snapshotUpdates(testbed),
          expected?.[act] as StateSnapshot | undefined,
          stability,
        );
      }
    } finally {
      await rest();
      watch.stop();
    }
    // No two of all nodes, so that a majority of etcd's members runs at every moment.
    expect(watch.mostAway()).toBeLessThanOrEqual(1);
    return shape;
  },
});

async function createCluster(testbed: Testbed, { controlPlanes, cordoned }: UpdateRolloutOptions): Promise<void> {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', {
    controlPlanes,
    workers: 1,
    change: (spec) => {
      spec.talos['version'] = versions.talos.from;
      Object.assign(spec, {
        kubernetes: { versions: Object.values(versions.kubernetes).map((version) => ({ version })) },
      });
    },
  });
  await objects.cluster(clusterRef, { kubernetes: { version: versions.kubernetes.from } });
  await eventually('the Cluster is up to date', () => isAtRest(testbed));
  await withAdminClient(testbed, clusterRef, async (admin) => {
    await deployRollingWorkload(admin);
    const names = (await objects.machines(clusterRef)).map(({ metadata }) => metadata.name);
    const name = names.find((one) => one.endsWith(cordoned)) ?? '';
    await admin.merge(KubeNode, { name }, { spec: { unschedulable: true } });
  });
}

async function runPhase(testbed: Testbed, sweep: FaultSweep, act: UpdatePhase): Promise<void> {
  sweep.begin(act);
  sweep.isPaused = false;
  try {
    await changes[act](testbed);
    await eventually(`${act} is done`, async () => (await isAtRest(testbed)) && (await hasChange(testbed, act)));
  } catch (error) {
    throw new Error(`the rollout broke in its act "${act}". ${sweep.story()}${testbed.tail()}`, { cause: error });
  } finally {
    sweep.isPaused = true;
  }
}

async function isAtRest({ objects }: Testbed): Promise<boolean> {
  const { status } = await objects.getCluster(clusterRef);
  const isUpToDate = isConditionTrue(status?.conditions, 'UpToDate');
  return status?.phase === 'Ready' && isUpToDate && (await objects.machines(clusterRef)).every(isMachineAtRest);
}

const isMachineAtRest = ({ status }: Machine): boolean =>
  isConditionTrue(status?.conditions, 'UpToDate') &&
  isConditionTrue(status?.conditions, 'Ready') &&
  !isUpdateOpen(status?.progress);

/** Whether every node has the change, as the nodes themselves show it. */
async function hasChange(testbed: Testbed, act: UpdatePhase): Promise<boolean> {
  const machines = await testbed.objects.machines(clusterRef);
  if (act === 'os') return machines.every(({ status }) => status?.applied?.talosVersion === versions.talos.to);
  if (act === 'kubernetes') {
    const { to } = versions.kubernetes;
    const { status } = await testbed.objects.getCluster(clusterRef);
    return (
      status?.providerStatus?.['kubernetesVersion'] === to &&
      machines.every(({ status: one }) => one?.applied?.kubernetesVersion === to)
    );
  }
  if (act === 'remediation') {
    const { status } = await testbed.objects.getCluster(clusterRef);
    const isOver = machines.every(({ spec }) => spec.remediation === undefined);
    return isOver && Array.isArray(status?.providerStatus?.['remediation']);
  }
  if (act === 'talosCa' || act === 'kubernetesCa') return isRotated(await testbed.objects.getCluster(clusterRef));
  if (act === 'restart')
    return testbed.world.machines.nodes().every(({ boots }) => boots > 2) && machines.every(isReleased);
  return await withAdminClient(testbed, clusterRef, async (admin) =>
    (await admin.list(KubeNode)).items.every(({ metadata }) => metadata.labels?.[label] === 'fast'),
  );
}

/** The record names a second authority as long as there is one. */
function isRotated({ metadata, status }: Cluster): boolean {
  const record = (status?.providerStatus?.['record'] ?? {}) as { readonly otherCa?: string };
  const isOver = isConditionTrue(status?.conditions, 'CertificateAuthoritiesRotated') && record.otherCa === undefined;
  return isOver && metadata.annotations?.[annotations.rotateCa] === undefined;
}

const isReleased = ({ spec, status }: Machine): boolean =>
  spec.revision !== undefined && status?.applied?.revision === spec.revision;

/** Versions, cordons, and how often each node has booted: a restart that is done twice disturbs twice. */
async function snapshotUpdates(testbed: Testbed): Promise<StateSnapshot> {
  const { objects, world } = testbed;
  const { status } = await objects.getCluster(clusterRef);
  const nodes = await withAdminClient(testbed, clusterRef, (admin) => admin.list(KubeNode));
  const seen = {
    cluster: [status?.phase, describeConditions(status?.conditions)],
    machines: (await objects.machines(clusterRef)).map(describeMachine),
    nodes: nodes.items.map(({ metadata, spec, status: { nodeInfo } = {} }) => [
      ...[metadata.name, metadata.labels?.[label], spec?.unschedulable === true, spec?.taints],
      ...[nodeInfo?.kubeletVersion, Object.keys(metadata.annotations ?? {}).sort()],
    ]),
    authorities: countAuthorities(testbed),
    // The order in which they were created differs.
    systems: Object.fromEntries(
      world.machines.nodes().map(({ hostname, version, ready, boots }) => [hostname, [version, ready, boots]]),
    ),
  };
  return JSON.parse(maskMachines(maskIds(JSON.stringify(seen)))) as StateSnapshot;
}

/** How many different authorities of Talos and of Kubernetes the Secret of the cluster ever had. */
function countAuthorities({ recorder }: Testbed): readonly number[] {
  const seen = recorder
    .of(Secret)
    .flatMap(({ object }) => (object.data?.[secretsBundleKey] ? [readClusterSecrets(object)] : []));
  const others = seen.flatMap(({ rotation }) => rotation ?? []);
  return (['os', 'kubernetes'] as const).map((authority) => {
    const issuing = seen.map(({ bundle }) => bundle.authorities[authority].certificate);
    const rotated = others.filter((rotation) => rotation.authority === authority);
    return new Set([...issuing, ...rotated.map(({ other }) => other.certificate)]).size;
  });
}

/** Without what is looked at an hour after the start of a process, which a killed one may not reach. */
const describeConditions = (conditions: readonly Condition[] | undefined): unknown =>
  conditions?.filter(({ type }) => type !== 'EtcdHasSpace').map(({ type, status, reason }) => [type, status, reason]);

function describeMachine({ metadata, spec, status }: Machine): unknown {
  const { talosVersion, kubernetesVersion, components } = status?.applied ?? {};
  const conditions = describeConditions(status?.conditions);
  return [
    ...[metadata.name, spec.talosVersion, spec.kubernetesVersion, spec.components ?? null],
    ...[talosVersion, kubernetesVersion, components ?? null, status?.pending ?? null, conditions],
  ];
}
