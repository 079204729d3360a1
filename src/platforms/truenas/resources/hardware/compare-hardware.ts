import type { HardwareChange, HardwareComparison } from '../../../../engine/capabilities/hardware.ts';
import type { Vm } from '../../api/schema.ts';
import { maxAgeWithoutEventsSeconds, type ReadFreshness } from '../../cache/knowledge-clock.ts';
import { desiredBridgesFact } from '../../config/cards.ts';
import type { VmSize } from '../../config/config.ts';
import { toVmCpuRequest } from '../../config/cpu.ts';
import { recordedDisks } from '../disk/data-disks.ts';
import { findVm, machineScopeOf, type TrueNasStepContext } from '../machine-scope.ts';

/** The settings of a VM that follow its size while it is off, as TrueNAS names them. */
export interface VmHardware {
  readonly vcpus: number;
  readonly cores: number;
  readonly threads: number;
  readonly cpu_mode: string;
  /** Only in the mode CUSTOM. */
  readonly cpu_model: string | null;
  /** MiB */
  readonly memory: number;
}

export const desiredVmHardware = (size: VmSize): VmHardware => ({
  // TrueNAS rejects a model in another mode than CUSTOM.
  ...({ cpu_model: null, ...toVmCpuRequest(size) } as Omit<VmHardware, 'memory'>),
  memory: size.memoryMiB,
});

/** The settings to change, for `vm.update`. Empty: none. */
export function differingHardware(vm: Vm, size: VmSize): Partial<VmHardware> {
  const desired = desiredVmHardware(size);
  return Object.fromEntries(
    Object.entries(desired).filter(([name, value]) => {
      const present = vm[name as keyof VmHardware];
      // What TrueNAS does not show cannot be compared.
      return present !== undefined && (present || null) !== value;
    }),
  ) as Partial<VmHardware>;
}

const cpuCount = ({ vcpus, cores, threads }: Pick<VmHardware, 'vcpus' | 'cores' | 'threads'>): number =>
  vcpus * cores * threads;

/** The fields of a size that a virtual machine does not follow. */
function listDifferingFields(vm: Vm, size: VmSize): string[] {
  const change = differingHardware(vm, size);
  const isOtherModel = change.cpu_mode !== undefined || change.cpu_model !== undefined;
  return [
    ...(cpuCount(vm) === size.cpus ? [] : ['size.cpus']),
    ...(change.vcpus === undefined ? [] : ['size.sockets']),
    ...(change.threads === undefined ? [] : ['size.threads']),
    ...(isOtherModel ? ['size.cpuModel'] : []),
    ...(change.memory === undefined ? [] : ['size.memoryMiB']),
  ];
}

/** The hardware of a machine as its size asks for, e.g. `4 CPUs (host), 8192 MiB, cards at br1`. */
export function describeDesiredHardware(context: TrueNasStepContext): string {
  const { config, node } = context;
  const size = config.sizes.find(({ name }) => name === node.size);
  if (!size) return '';
  const disks = desiredLayout(context, size).map((disk) => `disk ${disk}`);
  return [describeHardware(desiredVmHardware(size), desiredBridgesFact(context).cards), ...disks].join(', ');
}

function describeHardware({ vcpus, cores, threads, memory, ...cpu }: VmHardware, cards: string): string {
  const topology = [
    cpu.cpu_mode === 'CUSTOM' ? (cpu.cpu_model ?? '') : 'host',
    ...(vcpus > 1 ? [`${vcpus} sockets`] : []),
    ...(threads > 1 ? [`${threads} threads for each core`] : []),
  ];
  const cpus = `${cpuCount({ vcpus, cores, threads })} CPUs (${topology.filter((one) => one !== '').join(', ')})`;
  return [cpus, `${memory} MiB`, ...(cards === '' ? [] : [`cards at ${cards.replaceAll(',', ', ')}`])].join(', ');
}

/**
 * Compares a virtual machine with its size. The recorded cards count, since those that differ from the record are drift.
 * `freshness`: by default that of an observation, which costs no call after one.
 */
export async function compareHardware(
  context: TrueNasStepContext,
  freshness: ReadFreshness = { maxAgeSeconds: maxAgeWithoutEventsSeconds },
): Promise<HardwareComparison> {
  const { own: vm } = await findVm(machineScopeOf(context), freshness);
  // It is reported as gone.
  if (!vm) return { running: '', changes: [] };
  const recorded = String(context.facts['cards'] ?? '');
  const { vcpus, cores, threads, memory, cpu_mode, cpu_model } = vm;
  const seen = { vcpus, cores, threads, memory, cpu_mode: cpu_mode ?? '', cpu_model: cpu_model ?? null };
  return { running: describeHardware(seen, recorded), changes: listHardwareChanges(context, vm, recorded) };
}

function listHardwareChanges(context: TrueNasStepContext, vm: Vm, recordedCards: string): HardwareChange[] {
  const size = context.config.sizes.find(({ name }) => name === context.node.size);
  if (!size) return [];
  const { cards } = desiredBridgesFact(context);
  return [
    ...[...listDifferingFields(vm, size), ...(cards === recordedCards ? [] : ['size.cards'])].map((field) => ({
      field,
      class: 'hardware' as const,
    })),
    ...listStorageChanges(context, size).map((field) => ({ field, class: 'replace' as const })),
  ];
}

/** Disks are only ever grown in place. */
function listStorageChanges(context: TrueNasStepContext, size: VmSize): string[] {
  const { config, facts } = context;
  const recorded = recordedDisks(facts);
  const had = recorded.map(({ name, folder, raw }) => toLayout(name, folder.split('/')[0] ?? '', raw));
  const isShrunk = recorded.some(({ name, sizeGiB }) =>
    size.disks?.some((disk) => disk.name === name && disk.sizeGiB < sizeGiB),
  );
  const isOther = isShrunk || had.join() !== desiredLayout(context, size).join();
  const pools = [config.pool, ...(config.furtherPools ?? [])];
  return [
    ...(isOther ? ['size.disks'] : []),
    ...(pools.includes(String(facts['dataset'] ?? config.pool).split('/')[0] ?? '') ? [] : ['truenas.pool']),
  ];
}

const toLayout = (name: string, pool: string, raw: boolean): string => `${name} on ${pool}${raw ? ' (raw)' : ''}`;

/** Without a pool of its own a disk is on that of the machine. */
function desiredLayout({ config, facts }: TrueNasStepContext, { disks = [] }: VmSize): string[] {
  const own = String(facts['dataset'] ?? config.pool).split('/')[0] ?? '';
  return disks.map(({ name, pool = own, raw }) => toLayout(name, pool, raw));
}
