import { findFalseCondition } from '../../../../src/api/conditions.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { annotations } from '../../../../src/api/names.ts';
import { NodePool } from '../../../../src/api/node-pool.ts';
import type { ChaosEvent } from '../event.ts';
import type { Fleet } from '../fleet.ts';
import { keySecretOf } from '../fleet-configs.ts';
import type { NasName } from '../fleet-layout.ts';
import { oneNas } from './power.ts';

export const poolFull: ChaosEvent = {
  name: 'full pool while a worker is made again, and space later',
  ...oneNas,
  async strike(fleet, target, number) {
    const nas = fleet.nas(target as NasName);
    const machines = (await fleet.machines()).filter(({ spec }) => spec.role === 'worker');
    const here = machines.filter(({ metadata }) => fleet.vmOf(metadata.name)?.nas === nas);
    const chosen = here[number % Math.max(1, here.length)];
    if (chosen) {
      const { name, uid } = chosen.metadata;
      await fleet.testbed.platform.remove(Machine, { name });
      await fleet.until(`${name} has left`, () => fleet.vmOf(name)?.nas !== nas || isOther(name, uid));
    }
    await nas.fillPool('tank', 2 ** 30);
    await fleet.minutes(10);
    await nas.fillPool('tank', 2 ** 42);

    async function isOther(name: string, uid: string | undefined): Promise<boolean> {
      const found = await fleet.testbed.platform.find(Machine, { name });
      return found?.metadata.uid !== uid;
    }
  },
};

export const keyExpired: ChaosEvent = {
  name: 'the API key of a NAS is revoked, and replaced later',
  ...oneNas,
  async strike(fleet, target, number) {
    const nas = fleet.nas(target as NasName);
    const [former] = nas.nas.keys.filter(({ revokedReason }) => revokedReason === null);
    if (!former) throw new Error(`${target} has no key`);
    nas.revokeKey(former.user);
    await fleet.minutes(5);
    const id = Math.max(...nas.nas.keys.map((key) => key.id)) + 1;
    const apiKey = `${id}-${former.key.slice(-64, -8)}${String(10_000_000 + number)}`;
    nas.nas.keys.push({ id, user: former.user, key: apiKey, expiresAt: null, revokedReason: null });
    await fleet.testbed.objects.credentials(keySecretOf(target as NasName), { username: former.user, apiKey });
  },
};

/** The configuration is older by some minutes in which nothing was made: the pools stay as they are. */
export const nasRestored: ChaosEvent = {
  name: 'restore of the configuration of a NAS from a backup',
  ...oneNas,
  async strike(fleet, target) {
    const nas = fleet.nas(target as NasName);
    const backup = await nas.backUp();
    await fleet.minutes(10);
    await nas.restore(backup);
  },
};

/** A worker that was made since the backup has lost its virtual machine; its disk is still there, and a user approves. */
export const nasRestoredOlder: ChaosEvent = {
  name: 'restore of the configuration of a NAS from a backup that is older than a worker',
  ...oneNas,
  async strike(fleet, target, number) {
    const nas = fleet.nas(target as NasName);
    const backup = await nas.backUp();
    const concerned = oneNas.clusters(target, fleet.layout);
    await addWorker(fleet, concerned[number % concerned.length] ?? '');
    await nas.restore(backup);
    const isGone = ({ status }: Machine): boolean =>
      findFalseCondition(status?.conditions, 'Healthy')?.reason === 'VmGone';
    await fleet.until(`the machines of ${target} are seen again`, async () => {
      const gone = (await fleet.machines()).filter(isGone);
      for (const { metadata } of gone)
        await fleet.testbed.objects.annotate(Machine, { name: metadata.name }, { [annotations.approve]: 'VmGone' });
      const machines = await fleet.machines();
      return machines.every(
        ({ metadata, spec }) => spec.platform !== 'truenas' || fleet.vmOf(metadata.name) !== undefined,
      );
    });
  },
};

/** Up to three. */
async function addWorker(fleet: Fleet, cluster: string): Promise<void> {
  const { metadata, spec } = await fleet.poolOf(cluster);
  const replicas = Math.min(3, spec.replicas + 1);
  await fleet.testbed.platform.merge(NodePool, { name: metadata.name }, { spec: { replicas } });
  await fleet.until(
    `${cluster} has ${replicas} workers`,
    async () => {
      const { status } = await fleet.poolOf(cluster);
      return status?.readyReplicas === replicas && status.replicas === replicas;
    },
    120,
  );
}
