import { type ChaosEvent, noCluster, oneCluster } from '../event.ts';
import type { Fleet } from '../fleet.ts';
import type { NasName } from '../fleet-layout.ts';
import { oneNas } from './power.ts';

/** Cuts the provider off for some minutes: silently, with lost answers, or with refusals. */
async function cutOff(fleet: Fleet, to: RegExp, number: number): Promise<void> {
  const faults = ['silent', 'deaf', 'refused'] as const;
  await fleet.provider.cut(to, faults[number % faults.length] ?? 'silent');
  await fleet.minutes(2 + (number % 7));
  await fleet.provider.heal();
}

const portOf = (url: string): string => new URL(url).port;

export const nasPartition: ChaosEvent = {
  name: 'partition between the provider and a NAS',
  ...oneNas,
  uses: 'network',
  strike: (fleet, target, number) =>
    cutOff(fleet, new RegExp(`:${portOf(fleet.nas(target as NasName).line.url)}$`), number),
};

export const nodePartition: ChaosEvent = {
  name: 'partition between the provider and a node',
  ...oneCluster(),
  uses: 'network',
  async strike(fleet, target, number) {
    const machines = await fleet.machines(target);
    const address = machines[number % machines.length]?.status?.address ?? '';
    await cutOff(fleet, new RegExp(`^${address.replaceAll('.', '\\.')}:`), number);
  },
};

export const apiServerPartition: ChaosEvent = {
  name: 'partition between the provider and all API servers',
  ...noCluster,
  uses: 'network',
  strike: (fleet, _, number) => cutOff(fleet, /:6443$/, number),
};

export const platformPartition: ChaosEvent = {
  name: 'partition between the provider and the platform cluster',
  ...noCluster,
  uses: 'network',
  strike: (fleet, _, number) =>
    cutOff(fleet, new RegExp(`:${portOf(fleet.testbed.world.platform?.line.url ?? '')}$`), number),
};

export const robotMaintenance: ChaosEvent = {
  name: 'maintenance of the Robot webservice',
  ...noCluster,
  async strike(fleet) {
    const { robot } = fleet.testbed.world;
    robot.setMaintenance(true);
    await fleet.minutes(10);
    robot.setMaintenance(false);
  },
};
