import { z } from 'zod';
import type { CheckContext, Facts } from '../../engine/platform.ts';
import { connect } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { recordedDisks } from './data-disks.ts';
import { Dataset, Pool, Vm } from './schema.ts';
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
export async function lookBeside(
  context: Place,
  folders: readonly string[],
  maxAgeSeconds = sharedSeconds,
): Promise<View> {
  const parents = [...new Set(folders.map((folder) => folder.slice(0, folder.lastIndexOf('/') + 1)))];
  const each = parents.map((parent) => ['id', '^', parent]);
  const options = { extra: { retrieve_children: false }, select: fields.dataset };
  const below = [each.length > 1 ? [['OR', each]] : each, options];
  const [vms, pools, datasets] = await Promise.all([
    lookAtVms(context, maxAgeSeconds),
    share(context, 'pool.query', [[], { select: fields.pool }], z.array(Pool), maxAgeSeconds),
    share(context, 'pool.dataset.query', below, z.array(Dataset), maxAgeSeconds),
  ]);
  return { vms, pools, datasets: new Map(datasets.map((one) => [one.id, one])) };
}

/** All virtual machines of the system, as they were at most so long ago. */
export const lookAtVms = (context: Place, maxAgeSeconds = sharedSeconds): Promise<Vm[]> =>
  share(context, 'vm.query', [[], { select: fields.vm }], z.array(Vm), maxAgeSeconds);

async function share<T>(
  context: Place,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
  maxAgeSeconds: number,
): Promise<T> {
  const nas = connect(context);
  // What is asked for by one alone is not kept for others: of hundreds of machines it is large.
  if (maxAgeSeconds === 0) return await nas.read(method, params, schema, { signal: context.signal });
  // Who asked first may be called off while others wait for the answer.
  const { signal } = context.connections;
  const ask = () => nas.read(method, params, schema, { signal });
  return await nas.shared.get(`${method} ${JSON.stringify(params)}`, { maxAgeSeconds }, ask, context.signal);
}
