import { stopEtcd } from '../kubernetes/etcd.ts';
import { endHeartbeat } from '../kubernetes/heartbeat.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

/** One phase with its one task, by the names in events and on the console (talos: v1alpha1_sequencer.go). */
export interface SequencePhase {
  readonly name: string;
  readonly task: string;
  /** The work of the task. Absent: it has no visible effect in the simulator. */
  readonly run?: (sleep: (seconds: number) => Promise<void>) => void | Promise<void>;
}

export const drainPhase: SequencePhase = { name: 'drain', task: 'cordonAndDrainNode' };
export const kexecPhase: SequencePhase = { name: 'kexec', task: 'kexecPrepare' };
export const rebootPhase: SequencePhase = { name: 'reboot', task: 'reboot' };
export const shutdownPhase: SequencePhase = { name: 'shutdown', task: 'shutdown' };

/** The kubelet and its pods end, which takes a while (talos: stopAndRemoveAllPods waits for the kubelet first). */
export const stopPodsPhases = (node: TalosNode, seconds: number, task = 'stopAllPods'): readonly SequencePhase[] => [
  {
    name: 'cleanup',
    task,
    run: (sleep) => {
      endHeartbeat(node);
      return sleep(seconds);
    },
  },
  { name: 'dbus', task: 'stopDBus' },
];

/** All services except the API end, and the disk is unmounted. */
export const releaseDiskPhases = (node: TalosNode): readonly SequencePhase[] => [
  {
    name: 'stopServices',
    task: 'stopServicesForUpgrade',
    run: () => {
      node.services.stopAll(['apid', 'machined']);
      stopEtcd(node);
    },
  },
  { name: 'umount', task: 'unmountPodMounts' },
  { name: 'unmountBind', task: 'unmountSystemDiskBindMounts' },
  { name: 'unmountSystem', task: 'unmountEphemeralPartition' },
  { name: 'volumeFinalize', task: 'teardownLifecycle' },
];

/** The last event that a client gets before its own connection closes. */
export const stopServicesPhase: SequencePhase = {
  name: 'stopEverything',
  task: 'stopAllServices',
  run: (sleep) => sleep(timings.stopApi),
};
