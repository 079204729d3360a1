import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { Code as ErrorCode, ErrorSchema } from '../../../src/talos/gen/common_pb.ts';
import { SequenceEvent_Action, SequenceEventSchema } from '../../../src/talos/gen/events_pb.ts';
import { eraseDisk, erasePartition, type Partition } from './disk.ts';
import { leaveEtcd, stopEtcd } from './etcd.ts';
import type { Ending, Node, Sequence, Stage } from './node.ts';
import { publishSystemDisk } from './publish.ts';
import { timings } from './timings.ts';

const stages: Record<Sequence, Stage> = {
  reboot: 'rebooting',
  shutdown: 'shutting down',
  reset: 'resetting',
  upgrade: 'upgrading',
};

/**
 * Starts a sequence in the background and answers with its actor at once. Whatever goes wrong, a sequence that already runs
 * included, is seen in events only.
 */
export function startSequence(node: Node, sequence: Sequence, work: () => Promise<Ending>): string {
  const actorId = randomUUID();
  const tell = (action: SequenceEvent_Action, message?: string): void => {
    const error = message === undefined ? undefined : create(ErrorSchema, { code: ErrorCode.FATAL, message });
    node.events.publish(SequenceEventSchema, { sequence, action, ...(error ? { error } : {}) }, actorId);
  };
  if (node.sequence !== undefined) {
    tell(SequenceEvent_Action.NOOP, `failed to acquire lock: sequence ${node.sequence} is running`);
    node.log(`${sequence} failed: sequence ${node.sequence} is running`);
    return actorId;
  }
  node.sequence = sequence;
  node.actorId = actorId;
  tell(SequenceEvent_Action.START);
  node.setStage(stages[sequence]);
  node.spawn(sequence, async () => {
    try {
      const ending = await work();
      tell(SequenceEvent_Action.STOP);
      node.end(ending);
    } catch (error) {
      if (node.signal.aborted) return;
      node.sequence = undefined;
      const message = error instanceof Error ? error.message : String(error);
      node.log(`${sequence} failed: ${message}`);
      tell(SequenceEvent_Action.NOOP, message);
    }
  });
  return actorId;
}

/** Stops what runs, the API last of all. */
async function stopEverything(node: Node, seconds: number): Promise<void> {
  node.services.stopAll(['apid', 'machined']);
  stopEtcd(node);
  await node.sleep(seconds);
}

export const startReboot = (node: Node, powercycle = false): string =>
  startSequence(node, 'reboot', async () => {
    await stopEverything(node, timings.stopping);
    return powercycle ? 'reboot' : 'kexec';
  });

export const startShutdown = (node: Node, force = false): string =>
  startSequence(node, 'shutdown', async () => {
    await stopEverything(node, force ? 1 : timings.shutdown);
    return 'off';
  });

export interface ResetPlan {
  readonly graceful: boolean;
  readonly reboot: boolean;
  /** Partitions to erase; empty: the whole disk, when `systemDisk` is true. */
  readonly partitions: readonly Partition[];
  readonly systemDisk: boolean;
  /** Paths of the files behind other disks. */
  readonly userDisks: readonly string[];
}

export const startReset = (node: Node, plan: ResetPlan): string =>
  startSequence(node, 'reset', async () => {
    await node.sleep(plan.graceful ? 10 : 2);
    // A single member cannot leave: the sequence ends here and nothing is erased.
    if (plan.graceful && node.isControlPlane) leaveEtcd(node);
    await stopEverything(node, timings.shutdown);
    const disk = node.systemDisk;
    if (disk && plan.systemDisk) {
      for (const label of plan.partitions) erasePartition(disk, label);
      if (plan.partitions.length === 0) eraseDisk(disk);
    }
    for (const path of plan.userDisks) eraseDisk(path);
    publishSystemDisk(node);
    if (!plan.reboot) return 'off';
    return plan.partitions.length > 0 ? 'kexec' : 'reboot';
  });
