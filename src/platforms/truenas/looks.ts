import { z } from 'zod';
import type { CheckContext, Facts } from '../../engine/platform.ts';
import { connect } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { recordedDisks } from './data-disks.ts';
import { Dataset, Pool, parseReply, Vm } from './schema.ts';
import { type Context, type System, systemOf } from './system.ts';

type Place = CheckContext<TrueNasConfig>;

/** What there is on a system. */
export interface View {
  readonly vms: readonly Vm[];
  readonly pools: readonly Pool[];
  /** By their full names. */
  readonly datasets: ReadonlyMap<string, Dataset>;
}

/** The same as far as it concerns one machine and those that are asked for together with it. */
export interface Sight extends View {
  readonly system: System;
  /** The pool that the machine lies in. */
  readonly pool: Pool | undefined;
}

/** What is read of each. A machine has five times as much, and of three hundred all of it would be sent each time. */
const fields = {
  vm: Object.keys(Vm.shape),
  pool: Object.keys(Pool.shape),
  dataset: Object.keys(Dataset.shape).filter((name) => name !== 'children'),
};

/** So long all machines on a system make do with one look. */
export const sharedSeconds = 15;

/** Three calls for all machines on the system together; a change of ours has them made again. */
export async function lookAround(context: Context): Promise<Sight> {
  const system = systemOf(context);
  const view = await lookBeside(context, foldersOf(system.identity.dataset, context.facts));
  const pool = view.pools.find(({ name }) => name === system.identity.dataset.split('/')[0]);
  return { ...view, system, pool };
}

/** Where a machine has something: its own dataset, and those of its data disks. */
export const foldersOf = (dataset: string, facts: Facts): string[] => [
  dataset,
  ...recordedDisks(facts).map(({ folder }) => folder),
];

/** What there is on the system, of datasets all that lies beside one of the folders or below. */
async function lookBeside(context: Place, folders: readonly string[]): Promise<View> {
  const [vms, pools, datasets] = await Promise.all([
    lookAtVms(context),
    share(context, 'pool.query', [[], { select: fields.pool }], z.array(Pool)),
    share(context, 'pool.dataset.query', beside(folders, fields.dataset), z.array(Dataset)),
  ]);
  return toView(vms, pools, datasets);
}

/** The same, by one alone who asks again and again, without what changes all the time. */
export interface Glimpse {
  /** The same as long as what there is is the same. */
  readonly hash: string;
  read(): View;
}

export async function glimpseBeside(context: Place, folders: readonly string[]): Promise<Glimpse> {
  const steady = fields.dataset.filter((name) => name !== 'available');
  const [vms, pools, datasets] = await Promise.all([
    later(context, 'vm.query', [[], { select: fields.vm }], z.array(Vm)),
    later(context, 'pool.query', [[], { select: fields.pool }], z.array(Pool)),
    later(context, 'pool.dataset.query', beside(folders, steady), z.array(Dataset)),
  ]);
  return {
    hash: [vms, pools, datasets].map(({ hash }) => hash).join(),
    read: () => toView(vms.read(), pools.read(), datasets.read()),
  };
}

async function later<T>(context: Place, method: string, params: readonly unknown[], schema: z.ZodType<T>) {
  const { hash, read } = await connect(context).readLater(method, params, { signal: context.signal });
  return { hash, read: (): T => parseReply(method, read(), schema) };
}

function beside(folders: readonly string[], select: readonly string[]): unknown[] {
  const parents = [...new Set(folders.map((folder) => folder.slice(0, folder.lastIndexOf('/') + 1)))];
  const each = parents.map((parent) => ['id', '^', parent]);
  return [each.length > 1 ? [['OR', each]] : each, { extra: { retrieve_children: false }, select }];
}

const toView = (vms: readonly Vm[], pools: readonly Pool[], datasets: readonly Dataset[]): View => ({
  ...{ vms, pools },
  datasets: new Map(datasets.map((one) => [one.id, one])),
});

/** All virtual machines of the system, as they were at most so long ago. */
export const lookAtVms = (context: Place, maxAgeSeconds = sharedSeconds): Promise<Vm[]> =>
  share(context, 'vm.query', [[], { select: fields.vm }], z.array(Vm), maxAgeSeconds);

async function share<T>(
  context: Place,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
  maxAgeSeconds = sharedSeconds,
): Promise<T> {
  const nas = connect(context);
  // Who asked first may be called off while others wait for the answer.
  const { signal } = context.connections;
  const ask = () => nas.read(method, params, schema, { signal });
  return await nas.shared.get(`${method} ${JSON.stringify(params)}`, { maxAgeSeconds }, ask, context.signal);
}
