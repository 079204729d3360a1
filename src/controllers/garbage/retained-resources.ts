import { Machine } from '../../api/machine.ts';
import { annotations, labels } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { RetainedResource } from '../../engine/capabilities/garbage.ts';
import type { Closable } from '../../engine/connection.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { diskKeyOf } from '../shared/secrets/disk-keys.ts';
import type { Services } from '../shared/services.ts';
import { gatherMachineEvidence } from './machine-evidence.ts';

const [daySeconds, longestGapSeconds] = [24 * 3600, 2 * 3600];

/** More than the retained keys and addresses of a provider. For an evicted one the day starts again. */
const maxTracked = 20_000;

/**
 * Since when this process has observed at every scan that a retained resource is not needed. After a restart the day
 * starts again: waiting longer is safe.
 */
class UnneededSinceTracker implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #since = new LruMap<string, { readonly since: number; readonly last: number }>(maxTracked);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Records an observation. Returns whether the resource has been unneeded for a day. */
  update(description: string): boolean {
    const now = this.#clock.monotonic();
    this.#since.drop(({ last }) => now - last > longestGapSeconds * 1000);
    const before = this.#since.get(description);
    const since = before?.since ?? now;
    this.#since.set(description, { since, last: now });
    return now - since >= daySeconds * 1000;
  }

  close(): void {
    this.#since.clear();
  }
}

type RetainedCandidate = Omit<RetainedResource, 'deleteIfUnneeded'> & { remove(): Promise<void> };

/** Disk keys and addresses of Machines that do not exist and that no Cluster needs, verified at the API server. */
export async function findRetainedResources(
  services: Services,
  signal: AbortSignal,
): Promise<readonly RetainedResource[]> {
  const candidates = [...listDiskKeys(services, signal), ...(await listAddresses(services, signal))].filter(
    ({ machine }) => !services.stores.machines.get({ name: machine }),
  );
  const unneeded = await filterUnneeded(services, candidates, signal);
  const tracker = services.connections.get('unneeded-since', () => new UnneededSinceTracker(services.clock));
  return unneeded.map((one) => ({
    ...one,
    deleteIfUnneeded: async () => {
      if (!tracker.update(one.description)) return false;
      // Checked again right before the removal: a Machine of that name may have been created, or its Cluster restored.
      if ((await filterUnneeded(services, [one], signal)).length === 0) return false;
      await one.remove();
      return true;
    },
  }));
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
