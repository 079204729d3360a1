import { createHash } from 'node:crypto';
import type { GlanceContext } from '../../engine/observation.ts';
import type { Facts, Owner } from '../../engine/platform.ts';
import { connect, type TrueNas } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { placeOf } from './identity.ts';
import { foldersOf, glimpseBeside, type Sight, type View } from './looks.ts';
import type { Dataset } from './schema.ts';

/** By what a machine is found on its system. */
interface Known {
  readonly uuid: string;
  readonly vmName: string;
  readonly folders: readonly string[];
}

/** What was seen at the last glance. */
interface Seen {
  readonly hash: string;
  readonly folders: readonly string[];
  /** What it left of each machine, and by which facts that was looked for. */
  readonly traces: WeakMap<Owner, { readonly facts: Facts; readonly trace: string }>;
}

const known = new WeakMap<TrueNas, Map<string, Seen>>();

/** By where machines are made on a system: each ProviderConfig has its own. */
function seenOn(nas: TrueNas): Map<string, Seen> {
  const seen = known.get(nas) ?? new Map<string, Seen>();
  known.set(nas, seen);
  return seen;
}

/**
 * The three calls of a look around, for all machines of the system at rest. Answers that say nothing new are not even read, and
 * of machines that are the same as before nothing is worked out again.
 */
export async function glance(context: GlanceContext<TrueNasConfig>): Promise<readonly string[]> {
  const { config, machines } = context;
  const seen = seenOn(connect(context));
  const place = `${config.pool}/${config.datasetPrefix}`;
  const last = seen.get(place);
  const former = last && tracesOf(machines, last);
  const lookFor = (): Known[] => machines.map((one) => lookedFor({ ...one, config }));
  const folders = former ? last.folders : lookFor().flatMap((one) => one.folders);
  const { hash, read } = await glimpseBeside(context, folders);
  if (former && last.hash === hash) return former;
  const traces = tracesIn(read(), lookFor());
  const left = machines.map(({ owner, facts }, index) => [owner, { facts, trace: traces[index] ?? '' }] as const);
  seen.set(place, { hash, folders, traces: new WeakMap(left) });
  return traces;
}

/** What was left of each the last time; undefined when one of them was not there then, or was looked for by other facts. */
function tracesOf(machines: GlanceContext['machines'], { traces }: Seen): readonly string[] | undefined {
  const known: string[] = [];
  for (const { owner, facts } of machines) {
    const one = traces.get(owner);
    if (one?.facts !== facts) return undefined;
    known.push(one.trace);
  }
  return known;
}

function lookedFor(subject: { owner: Owner; config: TrueNasConfig; facts: Facts }): Known {
  const { dataset, ...names } = placeOf(subject);
  return { ...names, folders: foldersOf(dataset, subject.facts) };
}

/** The trace of the machine that is looked around for. */
export function traceIn(sight: Sight, facts: Facts): string {
  const { uuid, vmName, dataset } = sight.system.identity;
  const [trace = ''] = tracesIn(sight, [{ uuid, vmName, folders: foldersOf(dataset, facts) }]);
  return trace;
}

/** What each machine is judged by, as a hash. How much room is taken changes all the time, and is not judged. */
function tracesIn({ vms, pools, datasets }: View, all: readonly Known[]): string[] {
  const uuids = gather(vms, ({ uuid }) => uuid?.toLowerCase());
  const names = gather(vms, ({ name }) => name);
  const folders = new Set(all.flatMap((one) => one.folders));
  const lying = gather(datasets.values(), ({ id }) => folderOf(id, folders));
  const poolOf = new Map(pools.map((pool) => [pool.name, [pool.status, pool.healthy]]));
  return all.map((one) => {
    const machines = new Set([...(uuids.get(one.uuid) ?? []), ...(names.get(one.vmName) ?? [])]);
    const storage = one.folders.map((folder) => [
      poolOf.get(folder.split('/')[0] ?? ''),
      lying.get(folder)?.map(judged),
    ]);
    const print = createHash('sha256').update(JSON.stringify([...machines, ...storage]));
    // Cut off as bytes: a part of a text would hold all of it.
    return print.digest().toString('base64url', 0, 12);
  });
}

function gather<T, K>(all: Iterable<T>, keyOf: (one: T) => K): Map<K, T[]> {
  const found = new Map<K, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const others = found.get(key);
    if (others) others.push(one);
    else found.set(key, [one]);
  }
  return found;
}

/** The folder of a machine that something is or lies in. */
function folderOf(id: string, folders: ReadonlySet<string>): string | undefined {
  for (let at = id; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) if (folders.has(at)) return at;
  return undefined;
}

const judged = ({ id, type, locked, encryption_root, mountpoint, comments, volsize, user_properties }: Dataset) =>
  [id, type, locked, encryption_root, mountpoint, comments, volsize, user_properties] as const;
