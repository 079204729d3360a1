import { z } from 'zod';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Facts } from '../../../engine/step.ts';
import { connectTrueNas } from '../api/client.ts';
import { Dataset, Pool, parseTrueNasReply, Vm } from '../api/schema.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { recordedDisks } from '../resources/disk/data-disks.ts';
import { type MachineScope, machineScopeOf, type TrueNasStepContext } from '../resources/machine-scope.ts';

type SystemContext = PlatformContext<TrueNasConfig>;

/** The objects of a system. */
export interface TrueNasSnapshot {
  readonly vms: readonly Vm[];
  readonly pools: readonly Pool[];
  /** By full name. */
  readonly datasets: ReadonlyMap<string, Dataset>;
}

/** A snapshot with the scope of one machine. */
export interface TrueNasMachineSnapshot extends TrueNasSnapshot {
  readonly system: MachineScope;
  /** The pool of the machine's dataset. */
  readonly pool: Pool | undefined;
}

/** The fields that are read. A VM has five times as many, and for three hundred all of them would be sent each time. */
const selectedFields = {
  vm: Object.keys(Vm.shape),
  pool: Object.keys(Pool.shape),
  dataset: Object.keys(Dataset.shape).filter((name) => name !== 'children'),
};

/** All machines on the system share a snapshot of this age. */
export const defaultSharedReadAgeSeconds = 15;

/** Three calls for all machines on the system together. Our own changes invalidate them. */
export async function readMachineSnapshot(context: TrueNasStepContext): Promise<TrueNasMachineSnapshot> {
  const system = machineScopeOf(context);
  const view = await readSnapshot(context, machineFilesystemsOf(system.identity.dataset, context.facts));
  const pool = view.pools.find(({ name }) => name === system.identity.dataset.split('/')[0]);
  return { ...view, system, pool };
}

/** The filesystems of a machine: its own dataset, and those of its data disks. */
export const machineFilesystemsOf = (dataset: string, facts: Facts): string[] => [
  dataset,
  ...recordedDisks(facts).map(({ folder }) => folder),
];

/** All VMs and pools of the system, and the datasets beside and below the given folders. */
async function readSnapshot(context: SystemContext, folders: readonly string[]): Promise<TrueNasSnapshot> {
  const [vms, pools, datasets] = await Promise.all([
    readSharedVms(context),
    readShared(context, 'pool.query', [[], { select: selectedFields.pool }], z.array(Pool)),
    readShared(context, 'pool.dataset.query', datasetsBesideParams(folders, selectedFields.dataset), z.array(Dataset)),
  ]);
  return toSnapshot(vms, pools, datasets);
}

/** An unparsed snapshot for the caller that polls, without fields that change all the time. */
export interface UnparsedSnapshot {
  /** Equal for equal snapshots. */
  readonly hash: string;
  read(): TrueNasSnapshot;
}

export async function readUnparsedSnapshot(
  context: SystemContext,
  folders: readonly string[],
): Promise<UnparsedSnapshot> {
  const steady = selectedFields.dataset.filter((name) => name !== 'available');
  const [vms, pools, datasets] = await Promise.all([
    readUnparsed(context, 'vm.query', [[], { select: selectedFields.vm }], z.array(Vm)),
    readUnparsed(context, 'pool.query', [[], { select: selectedFields.pool }], z.array(Pool)),
    readUnparsed(context, 'pool.dataset.query', datasetsBesideParams(folders, steady), z.array(Dataset)),
  ]);
  return {
    hash: [vms, pools, datasets].map(({ hash }) => hash).join(),
    read: () => toSnapshot(vms.read(), pools.read(), datasets.read()),
  };
}

async function readUnparsed<T>(
  context: SystemContext,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
) {
  const { hash, read } = await connectTrueNas(context).readLater(method, params, { signal: context.signal });
  return { hash, read: (): T => parseTrueNasReply(method, read(), schema) };
}

function datasetsBesideParams(folders: readonly string[], select: readonly string[]): unknown[] {
  const parents = [...new Set(folders.map((folder) => folder.slice(0, folder.lastIndexOf('/') + 1)))];
  const each = parents.map((parent) => ['id', '^', parent]);
  return [each.length > 1 ? [['OR', each]] : each, { extra: { retrieve_children: false }, select }];
}

const toSnapshot = (vms: readonly Vm[], pools: readonly Pool[], datasets: readonly Dataset[]): TrueNasSnapshot => ({
  ...{ vms, pools },
  datasets: new Map(datasets.map((one) => [one.id, one])),
});

/** All virtual machines of the system, with this maximum age. */
export const readSharedVms = (context: SystemContext, maxAgeSeconds = defaultSharedReadAgeSeconds): Promise<Vm[]> =>
  readShared(context, 'vm.query', [[], { select: selectedFields.vm }], z.array(Vm), maxAgeSeconds);

async function readShared<T>(
  context: SystemContext,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
  maxAgeSeconds = defaultSharedReadAgeSeconds,
): Promise<T> {
  const nas = connectTrueNas(context);
  // The first caller may be aborted while others wait for the answer.
  const { signal } = context.connections;
  const ask = () => nas.read(method, params, schema, { signal });
  return await nas.shared.get(`${method} ${JSON.stringify(params)}`, { maxAgeSeconds }, ask, context.signal);
}
