import { stopEtcd } from './etcd.ts';
import { endHeartbeat } from './heartbeat.ts';
import type { Node } from './node.ts';
import { timings } from './timings.ts';

/** One phase with its one task, by the names that events and console tell (talos: v1alpha1_sequencer.go). */
export interface Phase {
  readonly name: string;
  readonly task: string;
  /** What the task does. Left out: nothing that could be seen in this world. */
  readonly run?: (sleep: (seconds: number) => Promise<void>) => void | Promise<void>;
}

export const drain: Phase = { name: 'drain', task: 'cordonAndDrainNode' };
export const kexec: Phase = { name: 'kexec', task: 'kexecPrepare' };
export const reboot: Phase = { name: 'reboot', task: 'reboot' };
export const shutdown: Phase = { name: 'shutdown', task: 'shutdown' };

/** The kubelet and its pods end, which takes a while (talos: stopAndRemoveAllPods waits for the kubelet first). */
export const endPods = (node: Node, seconds: number, task = 'stopAllPods'): readonly Phase[] => [
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

/** All services end but the API, and the disk is let go. */
export const letGo = (node: Node): readonly Phase[] => [
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

/** The last that a client hears before its own connection goes. */
export const stopEverything: Phase = {
  name: 'stopEverything',
  task: 'stopAllServices',
  run: (sleep) => sleep(timings.stopApi),
};
