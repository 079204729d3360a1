import type { MachineDescription } from '../../machine-runner/machine.ts';
import { type InstalledSystem, kernelProblem, readPartition } from './disk-partitions.ts';
import { readIsoDisc } from './iso9660.ts';

/** The image that the firmware starts. */
export type BootImage = Omit<InstalledSystem, 'kernel'>;

export type BootDecision =
  | { readonly from: 'disk' | 'disc'; readonly path: string; readonly image: BootImage }
  | { readonly from: 'nothing'; readonly reason: string };

/** Levels below x86-64-v2: no SSE4.2, no POPCNT, or no CX16. */
const tooOldCpuModels =
  /^(?:qemu32|qemu64|kvm32|kvm64|486|pentium.*|athlon|phenom|core(?:2)?duo|n270|Conroe|Penryn|Opteron_G[123])(?:-.*)?$/i;

/** The boot decision of this machine at power-on, from the bytes on its disks and discs. */
export function decideBoot(machine: MachineDescription): BootDecision {
  const passed: string[] = [];
  for (const drive of drives(machine)) {
    const found = drive.kind === 'disk' ? inspectDisk(drive.path, machine) : inspectDisc(drive.path);
    if ('image' in found) {
      const rejection = hardwareProblem(machine, found.image);
      return rejection
        ? { from: 'nothing', reason: rejection }
        : { from: drive.kind, path: drive.path, image: found.image };
    }
    passed.push(`${drive.kind} ${drive.path.split('/').pop()}: ${found.reason}`);
  }
  const seen = passed.length > 0 ? passed.join('; ') : 'there is no disk and no disc';
  return { from: 'nothing', reason: `nothing to boot (${seen})` };
}

interface BootDrive {
  readonly kind: 'disk' | 'disc';
  readonly path: string;
  readonly order: number;
}

const drives = (machine: MachineDescription): BootDrive[] =>
  [
    ...machine.disks.map((disk): BootDrive => ({ kind: 'disk', path: disk.path, order: disk.order })),
    ...machine.cdroms.map((disc): BootDrive => ({ kind: 'disc', path: disc.path, order: disc.order })),
  ].sort((a, b) => a.order - b.order);

function inspectDisk(path: string, machine: MachineDescription): { image: BootImage } | { reason: string } {
  const boot = readPartition(path, 'BOOT');
  if (!boot) return { reason: 'no boot loader' };
  if (boot.firmware !== 'any' && boot.firmware !== machine.firmware)
    return { reason: `its boot loader is for ${boot.firmware}, not ${machine.firmware}` };
  const reason = kernelProblem(path, boot);
  return reason === undefined ? { image: boot } : { reason };
}

/** Discs of the simulated image factory hold `world.json`; a real disc holds a real boot loader. */
function inspectDisc(path: string): { image: BootImage } | { reason: string } {
  const disc = readIsoDisc(path);
  if (!disc) return { reason: 'no ISO 9660 image' };
  const bytes = disc.files.get('world.json') ?? disc.files.get('WORLD.JSON') ?? disc.files.get('WORLD.JSN');
  if (!bytes) return { reason: `no boot image (label ${disc.label})` };
  try {
    return { image: toImage(JSON.parse(bytes.toString('utf8'))) };
  } catch (error) {
    return { reason: `its boot image is damaged (${error instanceof Error ? error.message : String(error)})` };
  }
}

/** The description of a system that the simulated image factory puts into discs and installers. */
export function toImage(value: Record<string, unknown>): BootImage {
  const text = (key: string): string => {
    const found = value[key];
    if (typeof found !== 'string' || found === '') throw new Error(`${key} is missing`);
    return found;
  };
  const texts = (key: string): string[] => (Array.isArray(value[key]) ? (value[key] as unknown[]).map(String) : []);
  return {
    platform: text('platform'),
    arch: text('arch'),
    version: text('version').replace(/^v/, ''),
    schematic: text('schematic'),
    kernelArguments: texts('kernelArguments'),
    extensions: texts('extensions'),
  };
}

function hardwareProblem(machine: MachineDescription, image: BootImage): string | undefined {
  if (image.arch !== 'amd64') return `the image is for ${image.arch}; this machine is amd64`;
  if (machine.cpuModel === null || tooOldCpuModels.test(machine.cpuModel)) {
    return `the kernel halts: x86-64-v2 is required, and the CPU model is ${machine.cpuModel ?? 'the default of QEMU'}`;
  }
  return undefined;
}

/** The minor version `y` of Talos `1.y.z`. */
export const talosMinorOf = (version: string): number => Number(version.split('.')[1] ?? '0');
