import { failedPreconditionError, unknownError } from '../api/errors.ts';
import {
  drainPhase,
  kexecPhase,
  rebootPhase,
  releaseDiskPhases,
  stopPodsPhases,
  stopServicesPhase,
} from '../lifecycle/phases.ts';
import { startSequence } from '../lifecycle/run-sequence.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { talosMinorOf } from './decide-boot.ts';
import { type PulledInstaller, pullInstaller, writeBootPartition } from './installer.ts';

/** The checks of the deprecated `Upgrade` call before it answers: the image, and that etcd keeps its quorum. */
export async function validateUpgrade(node: TalosNode, reference: string, force: boolean): Promise<void> {
  if (!node.systemDisk) throw failedPreconditionError('Talos is not installed');
  try {
    await pullInstaller(node, reference);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unknownError(`error validating installer image "${reference}": ${reason}`);
  }
  const cluster = node.etcd?.cluster;
  if (!cluster || force || !node.isControlPlane) return;
  if (cluster.members.length === 2) {
    throw unknownError(
      'error validating etcd for upgrade: etcd cluster is not healthy: etcd cluster has 2 members, upgrade is not possible',
    );
  }
  const down = cluster.members.filter((member) => !member.node || member.learner);
  if (down.length > 0)
    throw unknownError(`error validating etcd for upgrade: etcd member ${down[0]?.name} is not healthy`);
}

/** The whole upgrade as one sequence, including the reboot. */
export function startUpgrade(node: TalosNode, reference: string): string {
  const install = async (): Promise<void> => {
    const problem = installUpgrade(node, await pullInstaller(node, reference));
    if (problem !== undefined) throw new Error(problem);
  };
  const phases = [
    drainPhase,
    ...stopPodsPhases(node, timings.stopping / 2),
    ...releaseDiskPhases(node),
    { name: 'upgrade', task: 'upgrade', run: install },
    { name: 'meta', task: 'reloadMeta' },
    kexecPhase,
    stopServicesPhase,
    rebootPhase,
  ];
  return startSequence(node, 'upgrade', phases, 'kexec');
}

/** Writes the new boot loader, or throws the installer's error. */
export function installUpgrade(node: TalosNode, image: PulledInstaller): string | undefined {
  const disk = node.systemDisk;
  if (!disk) return 'Talos is not installed';
  const host = node.minor;
  const target = talosMinorOf(image.version);
  // talos: pkg/machinery/compatibility: two minors up, and one down.
  if (host < target - 2) return `host version ${node.image.version} is too old to upgrade to Talos ${image.version}`;
  if (host >= target + 2) return `host version ${node.image.version} is too new to downgrade to Talos ${image.version}`;
  writeBootPartition(node, disk, image);
  return undefined;
}
