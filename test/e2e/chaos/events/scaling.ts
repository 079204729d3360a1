import { Machine } from '../../../../src/api/machine.ts';
import { annotations } from '../../../../src/api/names.ts';
import { NodePool } from '../../../../src/api/node-pool.ts';
import { type ChaosEvent, oneCluster } from '../event.ts';
import type { Fleet } from '../fleet.ts';

/** Servers are few: clusters of virtual machines only. */
const virtual = oneCluster(({ config }) => config !== 'metal');

async function scale(fleet: Fleet, cluster: string, replicas: number): Promise<void> {
  const { metadata } = await fleet.poolOf(cluster);
  await fleet.testbed.platform.merge(NodePool, { name: metadata.name }, { spec: { replicas } });
}

export const poolScaled: ChaosEvent = {
  name: 'change of the number of workers',
  ...virtual,
  async strike(fleet, target, number) {
    const { spec } = await fleet.poolOf(target);
    await scale(fleet, target, spec.replicas > 1 ? 1 : 2 + (number % 2));
  },
};

/** Deletes a Machine, as a user does. Its successor has the same name. */
async function deleteMachine(fleet: Fleet, role: 'worker' | 'controlplane', cluster: string, number: number) {
  const candidates = (await fleet.machines(cluster)).filter(({ spec }) => spec.role === role);
  const { name, uid } = candidates[number % candidates.length]?.metadata ?? { name: '' };
  await fleet.testbed.platform.remove(Machine, { name });
  await fleet.until(
    `${name} is deleted`,
    async () => (await fleet.testbed.platform.find(Machine, { name }))?.metadata.uid !== uid,
    240,
  );
}

export const workerDeleted: ChaosEvent = {
  name: 'kubectl delete machine, of a worker',
  ...oneCluster(),
  strike: (fleet, target, number) => deleteMachine(fleet, 'worker', target, number),
};

export const controlPlaneDeleted: ChaosEvent = {
  name: 'kubectl delete machine, of a control plane',
  ...oneCluster(({ controlPlanes }) => controlPlanes > 1),
  strike: (fleet, target, number) => deleteMachine(fleet, 'controlplane', target, number),
};

export const remediated: ChaosEvent = {
  name: 'a user asks for the restart of a node that hangs',
  ...virtual,
  async strike(fleet, target, number) {
    const workers = (await fleet.machines(target)).filter(({ spec }) => spec.role === 'worker');
    const name = workers[number % workers.length]?.metadata.name ?? '';
    const before = fleet.nodeOf(name);
    fleet.testbed.world.machines.hang(before?.name ?? '');
    const health = async () => (await fleet.testbed.platform.get(Machine, { name })).status?.conditions;
    await fleet.until(`${name} is unhealthy`, async () =>
      ((await health()) ?? []).some(({ type, status }) => type === 'NodeHealthy' && status === 'False'),
    );
    await fleet.testbed.objects.annotate(Machine, { name }, { [annotations.remediate]: 'restart' });
    await fleet.until(`${name} is restarted`, () => (fleet.nodeOf(name)?.boots ?? 0) > (before?.boots ?? 0));
  },
};
