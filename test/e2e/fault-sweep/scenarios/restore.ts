import { expect } from 'vitest';
import { type Condition, isConditionTrue } from '../../../../src/api/conditions.ts';
import { annotations } from '../../../../src/api/names.ts';
import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { eventually as waitFor } from '../../../support/eventually.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import { ConfigMap, withAdminClient } from '../../support/access/workload-cluster.ts';
import { BackupBucket, identitySecretName } from '../../support/backup/backup-bucket.ts';
import { loseEtcdData } from '../../support/backup/lose-etcd-data.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import { maskIds } from '../mask-ids.ts';
import type { Scenario } from '../scenario-run.ts';
import type { StateSnapshot } from '../state-snapshot.ts';
import { RestoreCallNaming } from './restore-call-naming.ts';
import { stableSnapshot } from './stable-snapshot.ts';
import { triggerReconciles } from './trigger-reconciles.ts';
import { maskMachines } from './update-call-naming.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, 60);
const stability = { seconds: 30, pauseMs: 200 };

/**
 * A Cluster with three control planes loses the quorum of its etcd, and is restored from a backup. The snapshot has what
 * the API server serves, and how often each machine was wiped and has booted.
 */
export const restoreScenario: Scenario = {
  naming: () => new RestoreCallNaming(),
  play: async (testbed, sweep, expected) => {
    sweep.isPaused = true;
    const bucket = await BackupBucket.open();
    try {
      const key = await prepare(testbed, bucket);
      const resets = countCalls(testbed, 'Reset');
      const rest = triggerReconciles(testbed);
      sweep.begin('restore');
      sweep.isPaused = false;
      try {
        await testbed.objects.annotate(Cluster, clusterRef, {
          [annotations.restore]: key,
          [annotations.restoreIdentity]: identitySecretName,
          [annotations.approve]: 'RestoreNotApproved',
        });
        await eventually('etcd is restored', () => isRestored(testbed));
      } catch (error) {
        throw new Error(`the restore broke. ${sweep.story()}${testbed.tail()}`, { cause: error });
      } finally {
        sweep.isPaused = true;
        await rest();
      }
      expect(countCalls(testbed, 'Reset') - resets).toBe(3);
      return await stableSnapshot(() => takeSnapshot(testbed), expected, stability);
    } finally {
      await bucket.close();
    }
  },
};

/** Returns the key of a backup that has one of two objects, and whose cluster has lost its quorum since. */
async function prepare(testbed: Testbed, bucket: BackupBucket): Promise<string> {
  const { objects } = testbed;
  await objects.credentials();
  await bucket.giveSecrets(testbed);
  await objects.config('home', { controlPlanes: 3, change: (spec) => Object.assign(spec, { backup: bucket.spec }) });
  await objects.cluster(clusterRef);
  await eventually('the Cluster is ready', async () => (await phase(testbed)) === 'Ready');
  await write(testbed, 'before');
  const key = await bucket.take(testbed, clusterRef);
  await write(testbed, 'after');
  await loseEtcdData(testbed, clusterRef, (await objects.machines(clusterRef)).slice(0, 2));
  await eventually('etcd prepares on two control planes', async () => {
    const nodes = testbed.world.machines.nodes();
    return nodes.filter(({ console }) => console.some((line) => line.includes('etcdserver: no leader'))).length >= 2;
  });
  return key;
}

const phase = async ({ objects }: Testbed) => (await objects.getCluster(clusterRef)).status?.phase;
const countCalls = ({ calls }: Testbed, method: string): number =>
  calls.filter(({ name }) => name.endsWith(`/${method}`)).length;

const write = (testbed: Testbed, name: string): Promise<unknown> =>
  withAdminClient(testbed, clusterRef, (admin) =>
    admin.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } }),
  );

async function isRestored({ objects }: Testbed): Promise<boolean> {
  const { status, metadata } = await objects.getCluster(clusterRef);
  const isOver = metadata.annotations?.[annotations.restore] === undefined;
  return isOver && status?.phase === 'Ready' && isConditionTrue(status.conditions, 'EtcdRestored');
}

async function takeSnapshot(testbed: Testbed): Promise<StateSnapshot> {
  const { objects, world } = testbed;
  const { status } = await objects.getCluster(clusterRef);
  const [maps, nodes] = await withAdminClient(testbed, clusterRef, async (admin) => [
    (await admin.list(ConfigMap, { namespace: 'default' })).items.map(({ metadata }) => metadata.name),
    (await admin.list(KubeNode)).items.map(({ metadata }) => metadata.name),
  ]);
  const seen = {
    cluster: [status?.phase, describeConditions(status?.conditions)],
    machines: (await objects.machines(clusterRef)).map(({ metadata, status: one }) => [
      metadata.name,
      describeConditions(one?.conditions),
    ]),
    ...{ maps, nodes, etcd: world.machines.bootstraps() },
    systems: Object.fromEntries(world.machines.nodes().map(({ hostname, ready, boots }) => [hostname, [ready, boots]])),
  };
  return JSON.parse(maskMachines(maskIds(JSON.stringify(seen)))) as StateSnapshot;
}

/** Without what is looked at an hour after the start of a process, which a killed one may not reach. */
const describeConditions = (conditions: readonly Condition[] | undefined): unknown =>
  conditions?.filter(({ type }) => type !== 'EtcdHasSpace').map(({ type, status, reason }) => [type, status, reason]);
