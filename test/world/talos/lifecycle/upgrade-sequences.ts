import type { InstalledSystem } from '../boot/disk-partitions.ts';
import { metaKeys, metaTag, setMetaTag } from '../boot/system-slots.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import {
  drainPhase,
  kexecPhase,
  rebootPhase,
  releaseDiskPhases,
  type SequencePhase,
  stopPodsPhases,
  stopServicesPhase,
} from './phases.ts';
import { type InstallRun, pullInstaller, runUpgradeInstaller } from './run-installer.ts';
import { startSequence } from './run-sequence.ts';

/** Drains, stops, installs and reboots (talos: v1alpha1_sequencer.go, Upgrade). */
export function startUpgrade(node: TalosNode, system: InstalledSystem, { powercycle = false } = {}): string {
  const install: SequencePhase = {
    name: 'upgrade',
    run: (sleep) => installOrThrow(node, system, sleep),
  };
  const phases = [
    ...drainPhases(node),
    ...stopPodsPhases(node, timings.stopping),
    ...releaseDiskPhases(node),
    install,
    ...endPhases(powercycle),
  ];
  return startSequence(node, 'upgrade', phases, powercycle ? 'reboot' : 'kexec');
}

/** Notes the image in META and reboots: the next boot installs it. */
export function startStagedUpgrade(node: TalosNode, image: string, { powercycle = false } = {}): string {
  setMetaTag(node, metaKeys.stagedImage, image);
  setMetaTag(node, metaKeys.stagedOptions, JSON.stringify({ upgrade: true, pull: true }));
  const phases = [...stopPodsPhases(node, timings.stopping), ...releaseDiskPhases(node), ...endPhases(powercycle)];
  return startSequence(node, 'stageUpgrade', phases, powercycle ? 'reboot' : 'kexec');
}

const drainPhases = (node: TalosNode): readonly SequencePhase[] =>
  node.config?.view.kubernetes.kubelet.skipRegistration ? [] : [drainPhase(node)];

const endPhases = (powercycle: boolean): readonly SequencePhase[] => [
  ...(powercycle ? [] : [kexecPhase]),
  stopServicesPhase,
  rebootPhase,
];

/** Takes the image of a staged upgrade out of META: it is tried once (talos: v1alpha1_state.go). */
export function takeStagedImage(node: TalosNode): string | undefined {
  const image = metaTag(node, metaKeys.stagedImage);
  if (image === undefined) return undefined;
  setMetaTag(node, metaKeys.stagedImage, undefined);
  setMetaTag(node, metaKeys.stagedOptions, undefined);
  return image;
}

/** The installation of a staged upgrade, after which the machine boots again. */
export async function installStaged(node: TalosNode, image: string, { signal, sleep }: InstallRun): Promise<void> {
  node.log(`performing staged upgrade via "${image}"`);
  await installOrThrow(node, await pullInstaller(node, image, signal), sleep);
}

async function installOrThrow(
  node: TalosNode,
  system: InstalledSystem,
  sleep: (seconds: number) => Promise<void>,
): Promise<void> {
  const code = await runUpgradeInstaller(node, { system, sleep, print: (line) => node.log(line) });
  if (code !== 0) throw new Error(`task "upgrade" failed: exit code ${code}`);
}
