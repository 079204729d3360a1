import { createHash } from 'node:crypto';
import type { Owner } from '../../../engine/node.ts';
import type { ObserveAllContext } from '../../../engine/observation.ts';
import type { Facts } from '../../../engine/step.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import type { Dataset } from '../api/schema.ts';
import { SystemInformer, type SystemList } from '../cache/system-informer.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { vmLocationOf } from '../resources/identity.ts';
import { machineFilesystemsOf, type TrueNasMachineSnapshot } from './machine-snapshot.ts';

/** Identifies a machine on its system. */
interface MachineLookup {
  readonly uuid: string;
  readonly vmName: string;
  readonly folders: readonly string[];
}

/** The last snapshot of a system. */
interface LastObservation {
  readonly hash: string;
  readonly folders: readonly string[];
  /** The fingerprint of each machine, and the facts that it was looked up by. */
  readonly fingerprints: WeakMap<Owner, { readonly facts: Facts; readonly fingerprint: string }>;
}

const lastObservations = new WeakMap<TrueNasClient, Map<string, LastObservation>>();

/** By prefix on the system: each ProviderConfig has its own. */
function lastObservationsOn(nas: TrueNasClient): Map<string, LastObservation> {
  const seen = lastObservations.get(nas) ?? new Map<string, LastObservation>();
  lastObservations.set(nas, seen);
  return seen;
}

/**
 * Observes all idle machines of a system by three calls. Unchanged answers are not parsed, and the fingerprints of
 * unchanged machines are not computed again.
 */
export async function observeAll(context: ObserveAllContext<TrueNasConfig>): Promise<readonly string[]> {
  const { config, machines } = context;
  const nas = connectTrueNas(context);
  const seen = lastObservationsOn(nas);
  const place = `${config.pool}/${config.datasetPrefix}`;
  const last = seen.get(place);
  const former = last && cachedFingerprints(machines, last);
  const lookFor = (): MachineLookup[] => machines.map((one) => toMachineLookup({ ...one, config }));
  const folders = former ? last.folders : lookFor().flatMap((one) => one.folders);
  const { hash, read } = await SystemInformer.of(nas).relist(folders, context.signal);
  if (former && last.hash === hash) return former;
  const fingerprints = fingerprintMachines(read(), lookFor());
  const left = machines.map(
    ({ owner, facts }, index) => [owner, { facts, fingerprint: fingerprints[index] ?? '' }] as const,
  );
  seen.set(place, { hash, folders, fingerprints: new WeakMap(left) });
  return fingerprints;
}

/** The last fingerprint of each machine; undefined when one of them was missing or had other facts. */
function cachedFingerprints(
  machines: ObserveAllContext['machines'],
  { fingerprints }: LastObservation,
): readonly string[] | undefined {
  const known: string[] = [];
  for (const { owner, facts } of machines) {
    const one = fingerprints.get(owner);
    if (one?.facts !== facts) return undefined;
    known.push(one.fingerprint);
  }
  return known;
}

function toMachineLookup(subject: { owner: Owner; config: TrueNasConfig; facts: Facts }): MachineLookup {
  const { dataset, ...names } = vmLocationOf(subject);
  return { ...names, folders: machineFilesystemsOf(dataset, subject.facts) };
}

/** The fingerprint of a single machine. */
export function fingerprintMachine(snapshot: TrueNasMachineSnapshot, facts: Facts): string {
  const { uuid, vmName, dataset } = snapshot.system.identity;
  const [fingerprint = ''] = fingerprintMachines(snapshot, [
    { uuid, vmName, folders: machineFilesystemsOf(dataset, facts) },
  ]);
  return fingerprint;
}

/** Hashes the fields that drift is computed from. The used space changes all the time and is left out. */
function fingerprintMachines({ vms, pools, datasets }: SystemList, all: readonly MachineLookup[]): string[] {
  const uuids = groupBy(vms, ({ uuid }) => uuid?.toLowerCase());
  const names = groupBy(vms, ({ name }) => name);
  const folders = new Set(all.flatMap((one) => one.folders));
  const lying = groupBy(datasets.values(), ({ id }) => filesystemOf(id, folders));
  const poolOf = new Map(pools.map((pool) => [pool.name, [pool.status, pool.healthy]]));
  return all.map((one) => {
    const machines = new Set([...(uuids.get(one.uuid) ?? []), ...(names.get(one.vmName) ?? [])]);
    const storage = one.folders.map((folder) => [
      poolOf.get(folder.split('/')[0] ?? ''),
      lying.get(folder)?.map(fingerprintedFields),
    ]);
    const print = createHash('sha256').update(JSON.stringify([...machines, ...storage]));
    // Cut off as bytes: a substring would keep the whole string in memory.
    return print.digest().toString('base64url', 0, 12);
  });
}

function groupBy<T, K>(all: Iterable<T>, keyOf: (one: T) => K): Map<K, T[]> {
  const found = new Map<K, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const others = found.get(key);
    if (others) others.push(one);
    else found.set(key, [one]);
  }
  return found;
}

/** The filesystem of a machine that a dataset is or lies in. */
function filesystemOf(id: string, folders: ReadonlySet<string>): string | undefined {
  for (let at = id; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) if (folders.has(at)) return at;
  return undefined;
}

const fingerprintedFields = ({
  id,
  type,
  locked,
  encryption_root,
  mountpoint,
  comments,
  volsize,
  user_properties,
}: Dataset) => [id, type, locked, encryption_root, mountpoint, comments, volsize, user_properties] as const;
