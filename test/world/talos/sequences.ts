import { eraseDisk, erasePartition, type Partition } from './disk.ts';
import { leaveEtcd, readEphemeral } from './etcd.ts';
import type { Node } from './node.ts';
import { drain, endPods, kexec, letGo, type Phase, reboot, shutdown, stopEverything } from './phases.ts';
import { publishSystemDisk } from './publish.ts';
import { startSequence } from './sequence.ts';
import { timings } from './timings.ts';

export function startReboot(node: Node, { powercycle = false, takesOver = false } = {}): string {
  const phases = [
    ...endPods(node, timings.stopping),
    ...letGo(node),
    ...(powercycle ? [] : [kexec]),
    stopEverything,
    reboot,
  ];
  return startSequence(node, 'reboot', phases, powercycle ? 'reboot' : 'kexec', { takesOver });
}

/** By the API or by the power button: nothing that runs is in its way. */
export function startShutdown(node: Node, force = false): string {
  const phases = [
    { name: 'storeShutdown', task: 'storeShutdownEmergency' },
    ...(force ? [] : [drain]),
    ...endPods(node, force ? 1 : timings.shutdown),
    ...letGo(node),
    stopEverything,
    shutdown,
  ];
  return startSequence(node, 'shutdown', phases, 'off', { takesOver: true });
}

export interface ResetPlan {
  readonly graceful: boolean;
  readonly reboot: boolean;
  /** Partitions to erase; empty: the whole disk, when `systemDisk` is true. */
  readonly partitions: readonly Partition[];
  readonly systemDisk: boolean;
  /** Paths of the files behind other disks. */
  readonly userDisks: readonly string[];
}

export function startReset(node: Node, plan: ResetPlan): string {
  const { graceful, partitions } = plan;
  const keepsBoot = partitions.length > 0;
  const leave = { name: 'leave', task: 'leaveEtcd', run: () => leaveIfMember(node) };
  const phases = [
    ...(graceful ? [drain] : []),
    ...endPods(node, timings.shutdown + (graceful ? 10 : 2), graceful ? 'removeAllPods' : 'stopAllPods'),
    // A single member cannot leave: the sequence ends here and nothing is erased.
    ...(graceful && node.isControlPlane ? [leave] : []),
    { name: 'preReset', task: 'sendResetSignal' },
    ...letGo(node),
    ...(keepsBoot ? [kexec] : []),
    stopEverything,
    { name: 'forceCleanup', task: 'forceCleanup' },
    ...(plan.systemDisk ? [eraseSystem(node, partitions)] : []),
    ...(plan.userDisks.length > 0 ? [eraseOthers(plan.userDisks)] : []),
    plan.reboot ? reboot : shutdown,
  ];
  return startSequence(node, 'reset', phases, plan.reboot ? (keepsBoot ? 'kexec' : 'reboot') : 'off');
}

/** Without data, or with a service that has not come so far, there is nothing to leave. */
function leaveIfMember(node: Node): void {
  const state = node.services.get('etcd')?.state;
  if (!readEphemeral(node).etcd || (state !== 'Running' && state !== 'Failed')) return;
  try {
    leaveEtcd(node);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`failed to leave cluster: ${reason}`, { cause: error });
  }
}

function eraseSystem(node: Node, partitions: readonly Partition[]): Phase {
  const whole = partitions.length === 0;
  return {
    ...(whole ? { name: 'reset', task: 'resetSystemDisk' } : { name: 'resetSpec', task: 'resetSystemDiskSpec' }),
    run: () => {
      const disk = node.systemDisk;
      if (!disk) return;
      for (const label of partitions) erasePartition(disk, label);
      if (whole) eraseDisk(disk);
      publishSystemDisk(node);
    },
  };
}

const eraseOthers = (paths: readonly string[]): Phase => ({
  name: 'resetUserDisks',
  task: 'resetUserDisks',
  run: () => {
    for (const path of paths) eraseDisk(path);
  },
});
