import { type ChaosEvent, oneCluster } from '../event.ts';
import type { Fleet } from '../fleet.ts';
import { type FleetLayout, type NasName, nasNames, nasOf } from '../fleet-layout.ts';

const isVirtual = ({ config }: FleetLayout['clusters'][number]): boolean => config !== 'metal';

/** Targets of an event that happens to one NAS with all machines on it. */
export const oneNas: Pick<ChaosEvent, 'targets' | 'clusters'> = {
  targets: ({ clusters }) => nasNames.filter((nas) => clusters.some(({ config }) => nasOf(config).includes(nas))),
  clusters: (nas, { clusters }) =>
    clusters.filter(({ config }) => nasOf(config).includes(nas as NasName)).map(({ name }) => name),
};

export async function powerOffAll(fleet: Fleet, nas: NasName): Promise<void> {
  const names = [...fleet.nas(nas).nas.vms.values()].map(({ row }) => String(row['name']));
  await Promise.all(names.map((name) => fleet.nas(nas).powerOff(name)));
}

export const machinePowerCut: ChaosEvent = {
  name: 'power cut of a virtual machine',
  ...oneCluster(isVirtual),
  async strike(fleet, target, number) {
    const machines = await fleet.machines(target);
    const vm = fleet.vmOf(machines[number % machines.length]?.metadata.name ?? '');
    await vm?.nas.powerOff(vm.name);
  },
};

export const nasPowerCut: ChaosEvent = {
  name: 'power cut of a NAS, whose power returns after a while',
  ...oneNas,
  uses: 'network',
  async strike(fleet, target, number) {
    const nas = target as NasName;
    await fleet.provider.cut(new RegExp(`:${new URL(fleet.nas(nas).line.url).port}$`));
    await powerOffAll(fleet, nas);
    await fleet.minutes(1 + (number % 10));
    const back = fleet.nas(nas).restart({ hostReboot: true });
    await fleet.provider.heal();
    await back;
  },
};

export const nasReboot: ChaosEvent = {
  name: 'reboot of a NAS',
  ...oneNas,
  strike: (fleet, target) => fleet.nas(target as NasName).restart({ hostReboot: true }),
};

export const middlewareRestart: ChaosEvent = {
  name: 'restart of the middleware of a NAS',
  ...oneNas,
  strike: (fleet, target) => fleet.nas(target as NasName).restart(),
};

export const serverPowerCut: ChaosEvent = {
  name: 'power cut of a bare server',
  ...oneCluster(({ config }) => config === 'metal'),
  async strike(fleet, target, number) {
    const machines = await fleet.machines(target);
    const chosen = machines[number % machines.length];
    const server = fleet.testbed.world.robot.server(Number(chosen?.status?.progress?.facts['server']));
    server.machine.cut();
    await fleet.minutes(1);
    server.machine.switchOn();
  },
};
