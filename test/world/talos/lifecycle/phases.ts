import { cordonAndDrain } from '../kubernetes/cordon.ts';
import { stopEtcd } from '../kubernetes/etcd.ts';
import { endHeartbeat } from '../kubernetes/heartbeat.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

/** One phase by its name on the console (talos: v1alpha1_sequencer.go). */
export interface SequencePhase {
  readonly name: string;
  /** The work of its task. Absent: it has no visible effect in the simulator. */
  readonly run?: (sleep: (seconds: number) => Promise<void>) => void | Promise<void>;
}

/** A drain that fails ends the sequence, unless it is a reset. */
export const drainPhase = (node: TalosNode): SequencePhase => ({
  name: 'drain',
  run: (sleep) => cordonAndDrain(node, sleep),
});
export const kexecPhase: SequencePhase = { name: 'kexec' };
export const rebootPhase: SequencePhase = { name: 'reboot' };
export const shutdownPhase: SequencePhase = { name: 'shutdown' };

/** The kubelet and its pods end, which takes a while (talos: stopAndRemoveAllPods waits for the kubelet first). */
export const stopPodsPhases = (node: TalosNode, seconds: number): readonly SequencePhase[] => [
  {
    name: 'cleanup',
    run: (sleep) => {
      endHeartbeat(node);
      return sleep(seconds);
    },
  },
  { name: 'dbus' },
];

/** All services except the API end, and the disk is unmounted. */
export const releaseDiskPhases = (node: TalosNode): readonly SequencePhase[] => [
  {
    name: 'stopServices',
    run: () => {
      node.services.stopAll(['apid', 'machined']);
      stopEtcd(node);
    },
  },
  { name: 'umount' },
  { name: 'unmountBind' },
  { name: 'unmountSystem' },
  { name: 'volumeFinalize' },
];

/** The API ends last. */
export const stopServicesPhase: SequencePhase = {
  name: 'stopEverything',
  run: (sleep) => sleep(timings.stopApi),
};
