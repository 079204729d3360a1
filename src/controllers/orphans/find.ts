import { Machine } from '../../api/machine.ts';
import type { Orphan, Orphans } from '../../engine/orphans.ts';
import type { CheckContext } from '../../engine/platform.ts';
import type { AtSite } from '../../engine/sites.ts';
import type { Services } from '../services.ts';

/** Where and with what a ProviderConfig has its machines made: one for each of several places. */
export interface Ground {
  /** Name of the platform. */
  readonly platform: string;
  readonly orphans: Orphans<unknown>;
  readonly check: CheckContext & AtSite;
}

/** An orphan, and where it was found. */
export interface Found {
  readonly orphan: Orphan;
  readonly ground: Ground;
}

/**
 * What is left of Machines that do not exist. The cache leaves out most of what is there; what it does not know is asked of the API
 * server itself, whatever the labels of a Machine are by now: a living machine is never taken for an orphan.
 */
export async function findAll(
  services: Pick<Services, 'kube' | 'stores' | 'installation' | 'provider'>,
  grounds: readonly Ground[],
): Promise<readonly Found[]> {
  const { kube, stores, installation, provider } = services;
  const look = async (ground: Ground): Promise<Found[]> => {
    const { orphans, check } = ground;
    const isKnown = (name: string): boolean => stores.machines.get({ name }) !== undefined;
    const found = await orphans.find({ ...check, ours: { installation, provider }, isKnown });
    return found.map((orphan) => ({ orphan, ground }));
  };
  const found = (await Promise.all(grounds.map(look))).flat();
  const [first] = found;
  if (!first) return [];
  // After the look: a Machine is there before anything is made for it.
  const { items } = await kube.list(Machine, {}, first.ground.check.signal);
  const names = new Set(items.map(({ metadata }) => metadata.name));
  return together(found.filter(({ orphan }) => !names.has(orphan.machine)));
}

/** A machine is made at one place. What is found at several may be a copy, and nobody can say at which. */
function together(all: readonly Found[]): Found[] {
  const machines = [...new Set(all.map(({ orphan }) => orphan.machine))];
  return machines.flatMap((machine) => {
    const found = all.filter(({ orphan }) => orphan.machine === machine);
    const [one, ...others] = found;
    if (!one || others.length === 0) return found;
    const sites = found.map(({ ground }) => ground.check.site).join(', ');
    const orphan: Orphan = {
      ...one.orphan,
      what: [...new Set(found.flatMap(({ orphan }) => orphan.what))],
      runs: found.some(({ orphan }) => orphan.runs),
      doubt: `Its mark is at more than one place (${sites}), so that one may be a copy. Remove that by hand.`,
    };
    return [{ ...one, orphan }];
  });
}
