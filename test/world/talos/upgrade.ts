import { plain, tooEarly } from './api/errors.ts';
import { minorOf } from './boot.ts';
import { type PulledInstaller, pullInstaller, writeBoot } from './installer.ts';
import type { Node } from './node.ts';
import { drain, endPods, kexec, letGo, reboot, stopEverything } from './phases.ts';
import { startSequence } from './sequence.ts';
import { timings } from './timings.ts';

/** What the deprecated `Upgrade` call checks before it answers: the image, and that etcd survives it. */
export async function validateUpgrade(node: Node, reference: string, force: boolean): Promise<void> {
  if (!node.systemDisk) throw tooEarly('Talos is not installed');
  try {
    await pullInstaller(node, reference);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw plain(`error validating installer image "${reference}": ${reason}`);
  }
  const cluster = node.etcd?.cluster;
  if (!cluster || force || !node.isControlPlane) return;
  if (cluster.members.length === 2) {
    throw plain(
      'error validating etcd for upgrade: etcd cluster is not healthy: etcd cluster has 2 members, upgrade is not possible',
    );
  }
  const down = cluster.members.filter((member) => !member.node || member.learner);
  if (down.length > 0) throw plain(`error validating etcd for upgrade: etcd member ${down[0]?.name} is not healthy`);
}

/** The whole upgrade as one sequence, reboot included. */
export function startUpgrade(node: Node, reference: string): string {
  const install = async (): Promise<void> => {
    const problem = installUpgrade(node, await pullInstaller(node, reference));
    if (problem !== undefined) throw new Error(problem);
  };
  const phases = [
    drain,
    ...endPods(node, timings.stopping / 2),
    ...letGo(node),
    { name: 'upgrade', task: 'upgrade', run: install },
    { name: 'meta', task: 'reloadMeta' },
    kexec,
    stopEverything,
    reboot,
  ];
  return startSequence(node, 'upgrade', phases, 'kexec');
}

/** Writes the new boot loader, or says why the installer refuses. */
export function installUpgrade(node: Node, image: PulledInstaller): string | undefined {
  const disk = node.systemDisk;
  if (!disk) return 'Talos is not installed';
  const host = node.minor;
  const target = minorOf(image.version);
  // talos: pkg/machinery/compatibility: two minors up, and one down.
  if (host < target - 2) return `host version ${node.image.version} is too old to upgrade to Talos ${image.version}`;
  if (host >= target + 2) return `host version ${node.image.version} is too new to downgrade to Talos ${image.version}`;
  writeBoot(node, disk, image);
  return undefined;
}
