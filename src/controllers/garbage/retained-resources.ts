import { Machine } from '../../api/machine.ts';
import { annotations, labels } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { RetainedResource } from '../../engine/capabilities/garbage.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { diskKeyOf } from '../shared/secrets/disk-keys.ts';
import type { Services } from '../shared/services.ts';
import type { GarbageScope, GarbageSource, GarbageVisit } from './garbage-source.ts';
import { gatherMachineEvidence } from './machine-evidence.ts';
import { createUnusedResourceSource, garbageContextOf, type UnusedCandidate } from './unused-resources.ts';

/** After a longer gap between two observations, the state in between is unknown. They are made every hour. */
const maxObservationGapSeconds = 2 * 3600;

/** More than the retained keys and addresses of a provider. For an evicted one the grace period starts again. */
const maxTracked = 20_000;

/**
 * Since when this process has observed at every visit that a retained resource is not needed. After a restart the grace
 * period starts again: waiting longer is safe.
 */
class UnneededSinceTracker {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #since = new LruMap<string, { readonly since: number; readonly last: number }>(maxTracked);

  constructor(clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
  }

  /** Records an observation. Returns the time of the first one in a row. */
  observe(description: string): Date {
    const now = this.#clock.monotonic();
    this.#since.drop(({ last }) => now - last > maxObservationGapSeconds * 1000);
    const since = this.#since.get(description)?.since ?? now;
    this.#since.set(description, { since, last: now });
    return new Date(this.#clock.now().getTime() - (now - since));
  }
}

interface RetainedCandidate extends RetainedResource {
  remove(): Promise<void>;
}

/**
 * Disk keys and addresses on the platform cluster that were retained for Machines that do not exist. One is unused
 * while no Cluster needs the Machine, and the platform proves that nothing of it is left on its system.
 */
export function createRetainedResourceSource(clock: Services['clock']): GarbageSource {
  const tracker = new UnneededSinceTracker(clock);
  const list = async (visit: GarbageVisit, scope: GarbageScope): Promise<UnusedCandidate[]> => {
    const { findUnneeded } = scope.garbage;
    if (!findUnneeded) return [];
    const retained = await findRetainedResources(visit.services, visit.signal);
    const unneeded = await findUnneeded(garbageContextOf(visit, scope), retained);
    return unneeded.map((one) => ({
      use: 'unused',
      unusedSince: tracker.observe(one.description),
      // The tracker has recorded it.
      recordUnusedSince: async () => {},
      remove: () => removeRetained(visit, one),
    }));
  };
  return createUnusedResourceSource({ name: 'retained resources', list });
}

/** Checked again right before the removal: a Machine of that name may have been created, or its Cluster restored. */
async function removeRetained({ services, signal }: GarbageVisit, one: RetainedCandidate): Promise<string | undefined> {
  if ((await filterUnneeded(services, [one], signal)).length === 0) return undefined;
  await one.remove();
  return `Removed ${one.description}: for a day ${one.machine} had no resources on ${one.system}, and no Cluster needed it.`;
}

/** Disk keys and addresses of Machines that do not exist and that no Cluster needs, verified at the API server. */
export async function findRetainedResources(
  services: Services,
  signal: AbortSignal,
): Promise<readonly RetainedCandidate[]> {
  const candidates = [...listDiskKeys(services, signal), ...(await listAddresses(services, signal))].filter(
    ({ machine }) => !services.stores.machines.get({ name: machine }),
  );
  return await filterUnneeded(services, candidates, signal);
}

/** Only keys whose Secrets name the disks that they open. */
function listDiskKeys(services: Services, signal: AbortSignal): RetainedCandidate[] {
  return services.stores.secrets.list().flatMap(({ metadata }) => {
    const { labels: marks = {}, annotations: notes = {} } = metadata;
    const machine = marks[labels.diskKey];
    const [system, opens] = [notes[annotations.madeOn], notes[annotations.opens]];
    const isOurs = marks[labels.provider] === services.provider;
    if (!isOurs || machine === undefined || system === undefined || !opens) return [];
    const remove = () => diskKeyOf(services, machine, signal).delete();
    return [{ machine, system, roots: opens.split(','), description: `the Secret ${metadata.name}`, remove }];
  });
}

async function listAddresses({ addresses }: Services, signal: AbortSignal): Promise<RetainedCandidate[]> {
  return (await addresses.leasedAddress(signal)).map(({ machine, address, system: madeOn }) => ({
    ...parseSystemAndRoots(madeOn),
    ...{ machine, description: `the address ${address}` },
    remove: () => addresses.release(addressHolder.machine(machine), signal),
  }));
}

/** Parses the value in an address Lease: the system, followed by the roots of the machine's resources on it. */
function parseSystemAndRoots(madeOn: string): Pick<RetainedResource, 'system' | 'roots'> {
  const [system = '', ...roots] = madeOn.split(' ');
  return { system, roots };
}

async function filterUnneeded<T extends { readonly machine: string }>(
  services: Services,
  all: readonly T[],
  signal: AbortSignal,
): Promise<T[]> {
  if (all.length === 0) return [];
  const machines = new Set((await services.kube.list(Machine, {}, signal)).items.map(({ metadata }) => metadata.name));
  const { items: clusters } = await services.kube.list(Cluster, {}, signal);
  const free: T[] = [];
  for (const one of all) {
    if (machines.has(one.machine)) continue;
    const { needReason: need } = await gatherMachineEvidence(services, clusters, one.machine, signal);
    if (need === undefined) free.push(one);
  }
  return free;
}
