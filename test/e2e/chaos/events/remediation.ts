import { findFalseCondition, isConditionTrue } from '../../../../src/api/conditions.ts';
import { Host } from '../../../../src/api/host.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { annotations } from '../../../../src/api/names.ts';
import type { SmartState } from '../../../world/robot/hardware.ts';
import { type ChaosEvent, oneCluster } from '../event.ts';
import type { Fleet } from '../fleet.ts';
import { refOf } from '../fleet-layout.ts';

const serverOf = (fleet: Fleet, machine: Machine | undefined) =>
  fleet.testbed.world.robot.server(Number(machine?.status?.progress?.facts['server']));
const workersOf = async (fleet: Fleet, cluster: string) =>
  (await fleet.machines(cluster)).filter(({ spec }) => spec.role === 'worker');
const find = (fleet: Fleet, name: string) => fleet.testbed.platform.find(Machine, { name });

/**
 * A node that is restarted or replaced too often within a day is left for a user, who asks for it. Dates hardly pass between
 * the days of the schedule, so that the whole year is such a day.
 */
async function askIfStopped(
  fleet: Fleet,
  cluster: string,
  machine: string,
  action: 'restart' | 'replace',
): Promise<void> {
  const { objects } = fleet.testbed;
  const { status } = await objects.getCluster(refOf({ name: cluster }));
  if (findFalseCondition(status?.conditions, 'NodesHealthy')?.reason !== 'RemediationStopped') return;
  await objects.annotate(Machine, { name: machine }, { [annotations.remediate]: action });
}

/** The provider counts the time of waiting in dates. They pass as fast as the world, in which servers boot meanwhile. */
async function untilReplaced(fleet: Fleet, cluster: string, name: string): Promise<void> {
  await fleet.until(
    `${name} is replaced`,
    async () => {
      if ((await find(fleet, name)) === undefined) return true;
      await askIfStopped(fleet, cluster, name, 'replace');
      await fleet.minutes(1);
      await fleet.advanceDates(1);
      return false;
    },
    240,
  );
}

const isUnhealthy = (machine: Machine | undefined): boolean =>
  (machine?.status?.conditions ?? []).some(({ type, status }) => type === 'NodeHealthy' && status === 'False');

export const nodeHang: ChaosEvent = {
  name: 'a worker hangs, and is restarted by the remediation',
  ...oneCluster(),
  uses: 'dates',
  async strike(fleet, target, number) {
    const workers = await workersOf(fleet, target);
    const chosen = workers[number % workers.length];
    const name = chosen?.metadata.name ?? '';
    const node = fleet.nodeOf(name);
    if (chosen?.spec.platform === 'truenas') fleet.testbed.world.machines.hang(node?.name ?? '');
    else serverOf(fleet, chosen).machine.hang();
    await fleet.until(`${name} is unhealthy`, async () => isUnhealthy(await find(fleet, name)));
    await fleet.advanceDates(6);
    // It is replaced if its restarts of one day are used up.
    const isOver = async () => {
      if (fleet.nodeOf(name)?.ready === true || (await find(fleet, name)) === undefined) return true;
      await askIfStopped(fleet, target, name, 'restart');
      return false;
    };
    await fleet.until(`${name} is restarted or replaced`, isOver, 120);
  },
};

export const deadServer: ChaosEvent = {
  name: 'a server dies, another takes its place, and it is repaired later',
  ...oneCluster(({ config }) => config === 'metal'),
  uses: 'dates',
  async strike(fleet, target) {
    const { platform } = fleet.testbed;
    const [dead] = await workersOf(fleet, target);
    const { machine } = serverOf(fleet, dead);
    const number = Number(dead?.status?.progress?.facts['server']);
    machine.box.board.isDead = true;
    machine.hang();
    const name = dead?.metadata.name ?? '';
    await fleet.until(`${name} is unhealthy`, async () => isUnhealthy(await find(fleet, name)));
    await untilReplaced(fleet, target, name);
    const host = { name: `server-${number}` };
    await fleet.until(`${host.name} is out of use`, async () => {
      const { status, metadata } = await platform.get(Host, host);
      return status?.state === 'Failed' && metadata.annotations?.[annotations.permanentError] !== undefined;
    });
    machine.box.board.isDead = false;
    const repaired = { spec: { wipe: true }, metadata: { annotations: { [annotations.permanentError]: null } } };
    await platform.merge(Host, host, repaired);
    await fleet.until(
      `${host.name} is available`,
      async () => (await platform.get(Host, host)).status?.state === 'Available',
      120,
    );
    await fleet.until(`${target} has a worker`, async () =>
      (await workersOf(fleet, target)).every(({ status }) => isConditionTrue(status?.conditions, 'Ready')),
    );
  },
};

export const deadDisk: ChaosEvent = {
  name: 'the disk of a server dies, another server takes its place, and the disk is replaced later',
  ...oneCluster(({ config }) => config === 'metal'),
  uses: 'dates',
  async strike(fleet, target) {
    const [dead] = await workersOf(fleet, target);
    const name = dead?.metadata.name ?? '';
    const number = Number(dead?.status?.progress?.facts['server']);
    const { machine } = serverOf(fleet, dead);
    const [disk] = machine.box.hardware.disks;
    if (!disk) throw new Error(`server ${number} has no disk`);
    // Nothing can be read from it any more.
    machine.box.software.fill(disk, { kind: 'blank' });
    Object.assign(disk, { smart: 'failing' satisfies SmartState });
    machine.hang();
    await fleet.until(`${name} is unhealthy`, async () => isUnhealthy(await find(fleet, name)));
    await untilReplaced(fleet, target, name);
    await inspect(fleet, number, 'Failing');
    const serial = `${disk.serial}N`;
    Object.assign(disk, { serial, wwn: `eui.${serial}`, smart: 'well' satisfies SmartState });
    await inspect(fleet, number, 'Passed');
  },
};

/** As a user does, whose Host is free. Its state stays the same meanwhile, and it is not Ready. */
async function inspect(fleet: Fleet, number: number, health: string): Promise<void> {
  const { platform } = fleet.testbed;
  const host = { name: `server-${number}` };
  const isFree = async () => {
    const { status } = await platform.get(Host, host);
    return status?.state === 'Available' && isConditionTrue(status.conditions, 'Ready');
  };
  await fleet.until(`${host.name} is available`, isFree, 120);
  await platform.merge(Host, host, { metadata: { annotations: { [annotations.inspect]: 'true' } } });
  await fleet.until(
    `${host.name} has a disk that is ${health}`,
    async () => (await platform.get(Host, host)).status?.hardware?.disks[0]?.health === health,
    120,
  );
}
