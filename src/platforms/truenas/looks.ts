import { z } from 'zod';
import { recordedDisks } from './data-disks.ts';
import { Dataset, Pool, Vm } from './schema.ts';
import { type Context, type System, systemOf } from './system.ts';

/** What there is on a system, as far as it concerns one machine and those that are asked for together with it. */
export interface Sight {
  readonly system: System;
  readonly vms: readonly Vm[];
  readonly pools: readonly Pool[];
  /** The pool that the machine lies in. */
  readonly pool: Pool | undefined;
  /** Those beside the machine's own dataset, on each pool that holds a disk of it, and everything below them, by their full names. */
  readonly datasets: ReadonlyMap<string, Dataset>;
}

/** So long all machines on a system make do with one look. */
export const sharedSeconds = 15;

/** Three calls for all machines on the system together; a change of ours has them made again. */
export async function lookAround(context: Context): Promise<Sight> {
  const system = systemOf(context);
  const { dataset } = system.identity;
  const folders = [dataset, ...recordedDisks(context.facts).map(({ folder }) => folder)];
  const parents = [...new Set(folders.map((folder) => folder.slice(0, folder.lastIndexOf('/') + 1)))];
  const each = parents.map((parent) => ['id', '^', parent]);
  const below = [each.length > 1 ? [['OR', each]] : each, { extra: { retrieve_children: false } }];
  const [vms, pools, datasets] = await Promise.all([
    lookAtVms(context),
    share(context, 'pool.query', [], z.array(Pool)),
    share(context, 'pool.dataset.query', below, z.array(Dataset)),
  ]);
  const pool = pools.find(({ name }) => name === dataset.split('/')[0]);
  return { system, vms, pools, pool, datasets: new Map(datasets.map((one) => [one.id, one])) };
}

/** All virtual machines of the system, as they were at most so long ago. */
export const lookAtVms = (context: Context, maxAgeSeconds = sharedSeconds): Promise<Vm[]> =>
  share(context, 'vm.query', [], z.array(Vm), maxAgeSeconds);

async function share<T>(
  context: Context,
  method: string,
  params: readonly unknown[],
  schema: z.ZodType<T>,
  maxAgeSeconds = sharedSeconds,
): Promise<T> {
  const { nas } = systemOf(context);
  // Who asked first may be called off while others wait for the answer.
  const { signal } = context.connections;
  const ask = () => nas.read(method, params, schema, { signal });
  return await nas.shared.get(`${method} ${JSON.stringify(params)}`, { maxAgeSeconds }, ask, context.signal);
}
