import { Machine } from '../../api/machine.ts';
import { annotations, labels } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { RetainedResource } from '../../engine/capabilities/garbage.ts';
import type { Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { diskKeyOf } from '../shared/secrets/disk-keys.ts';
import type { Services } from '../shared/services.ts';
import { gatherMachineEvidence } from './machine-evidence.ts';

const [daySeconds, longestGapSeconds] = [24 * 3600, 2 * 3600];

/** More keys and addresses than a provider keeps; what is forgotten begins its day anew. */
const maxTracked = 20_000;

/**
 * Since when nothing was left of what something is kept for, at every look of this process. A process that begins anew begins the day
 * anew: nothing is lost by waiting.
 */
class UnneededSinceTracker implements Closable {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #seen = new LruMap<string, { readonly since: number; readonly last: number }>(maxTracked);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** One more look in which nothing was left. Whether that has been so for a day. */
  look(what: string): boolean {
    const now = this.#clock.monotonic();
    this.#seen.drop(({ last }) => now - last > longestGapSeconds * 1000);
    const before = this.#seen.get(what);
    const since = before?.since ?? now;
    this.#seen.set(what, { since, last: now });
    return now - since >= daySeconds * 1000;
  }

  close(): void {
    this.#seen.clear();
  }
}

type RetainedCandidate = Omit<RetainedResource, 'letGo'> & { remove(): Promise<void> };

/** Keys and addresses of Machines that do not exist and that no Cluster has a use for, asked of the API server itself. */
export async function findRetainedResources(
  services: Services,
  signal: AbortSignal,
): Promise<readonly RetainedResource[]> {
  const candidates = [...listDiskKeys(services, signal), ...(await listAddresses(services, signal))].filter(
    ({ machine }) => !services.stores.machines.get({ name: machine }),
  );
  const unneeded = await filterUnneeded(services, candidates, signal);
  const days = services.connections.get('keepsake-days', () => new UnneededSinceTracker(services.clock));
  return unneeded.map((one) => ({
    ...one,
    letGo: async () => {
      if (!days.look(one.what)) return false;
      // Right before it goes: a Machine of that name may have been made meanwhile, or its Cluster brought back.
      if ((await filterUnneeded(services, [one], signal)).length === 0) return false;
      await one.remove();
      return true;
    },
  }));
}

/** Those that tell what they open. */
function listDiskKeys(services: Services, signal: AbortSignal): RetainedCandidate[] {
  return services.stores.secrets.list().flatMap(({ metadata }) => {
    const { labels: marks = {}, annotations: notes = {} } = metadata;
    const machine = marks[labels.diskKey];
    const [system, opens] = [notes[annotations.madeOn], notes[annotations.opens]];
    const isOurs = marks[labels.provider] === services.provider;
    if (!isOurs || machine === undefined || system === undefined || !opens) return [];
    const remove = () => diskKeyOf(services, machine, signal).forget();
    return [{ machine, system, roots: opens.split(','), what: `the Secret ${metadata.name}`, remove }];
  });
}

async function listAddresses({ addresses }: Services, signal: AbortSignal): Promise<RetainedCandidate[]> {
  return (await addresses.placed(signal)).map(({ machine, address, system: madeOn }) => ({
    ...parseSystemAndRoots(madeOn),
    ...{ machine, what: `the address ${address}` },
    remove: () => addresses.release(addressHolder.machine(machine), signal),
  }));
}

/** As a claim on an address has it: the system, and after it what lies there of the machine. */
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
    const { need } = await gatherMachineEvidence(services, clusters, one.machine, signal);
    if (need === undefined) free.push(one);
  }
  return free;
}
