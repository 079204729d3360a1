import { erasePartition, eraseTalosDisk, type TalosPartition } from '../boot/disk-partitions.ts';
import { leaveEtcdCluster, readEphemeral } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';
import { publishSystemDisk } from '../state/publish-resources.ts';
import { timings } from '../timings.ts';
import {
  drainPhase,
  kexecPhase,
  rebootPhase,
  releaseDiskPhases,
  type SequencePhase,
  shutdownPhase,
  stopPodsPhases,
  stopServicesPhase,
} from './phases.ts';
import { startSequence } from './run-sequence.ts';

export function startReboot(node: TalosNode, { powercycle = false, takesOver = false } = {}): string {
  const phases = [
    ...stopPodsPhases(node, timings.stopping),
    ...releaseDiskPhases(node),
    ...(powercycle ? [] : [kexecPhase]),
    stopServicesPhase,
    rebootPhase,
  ];
  return startSequence(node, 'reboot', phases, powercycle ? 'reboot' : 'kexec', { takesOver });
}

/** By the API or by the power button, which does not drain: it replaces every running sequence. */
export function startShutdown(node: TalosNode, { force = false, drain = true } = {}): string {
  const phases = [
    { name: 'storeShutdown' },
    ...(drain && !force && !node.config?.view.kubernetes.kubelet.skipRegistration ? [drainPhase(node)] : []),
    ...stopPodsPhases(node, force ? 1 : timings.shutdown),
    ...releaseDiskPhases(node),
    stopServicesPhase,
    shutdownPhase,
  ];
  return startSequence(node, 'shutdown', phases, 'off', { takesOver: true });
}

export interface ResetPlan {
  readonly graceful: boolean;
  readonly reboot: boolean;
  /** Partitions to erase; empty: the whole system disk. */
  readonly partitions: readonly TalosPartition[];
}

export function startReset(node: TalosNode, plan: ResetPlan): string {
  const { graceful, partitions } = plan;
  const keepsBoot = partitions.length > 0;
  const leave = { name: 'leave', run: () => leaveIfMember(node) };
  const phases = [
    ...(graceful ? [logged(node, drainPhase(node))] : []),
    ...stopPodsPhases(node, timings.shutdown + (graceful ? 10 : 2)),
    // A single member cannot leave: the sequence ends here and nothing is erased.
    ...(graceful && node.isControlPlane ? [leave] : []),
    { name: 'preReset' },
    ...releaseDiskPhases(node),
    ...(keepsBoot ? [kexecPhase] : []),
    stopServicesPhase,
    { name: 'forceCleanup' },
    eraseSystem(node, partitions),
    plan.reboot ? rebootPhase : shutdownPhase,
  ];
  return startSequence(node, 'reset', phases, plan.reboot ? (keepsBoot ? 'kexec' : 'reboot') : 'off');
}

/** A phase whose error only appears on the console. */
const logged = (node: TalosNode, { name, run }: SequencePhase): SequencePhase => ({
  name,
  run: async (sleep) => {
    try {
      await run?.(sleep);
    } catch (error) {
      node.log(`WARNING: failed to ${name} node: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
});

/** Without data, or before the service is up, there is no member to remove. */
function leaveIfMember(node: TalosNode): void {
  const state = node.services.get('etcd')?.state;
  if (!readEphemeral(node).etcd || (state !== 'Running' && state !== 'Failed')) return;
  try {
    leaveEtcdCluster(node);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`failed to leave cluster: ${reason}`, { cause: error });
  }
}

function eraseSystem(node: TalosNode, partitions: readonly TalosPartition[]): SequencePhase {
  const whole = partitions.length === 0;
  return {
    name: whole ? 'reset' : 'resetSpec',
    run: () => {
      const disk = node.systemDisk;
      if (!disk) return;
      for (const label of partitions) erasePartition(disk, label);
      if (whole) eraseTalosDisk(disk);
      publishSystemDisk(node);
    },
  };
}
