import { Machine } from '../../api/machine.ts';
import type { Orphan, Orphans } from '../../engine/orphans.ts';
import type { CheckContext } from '../../engine/platform.ts';
import type { AtSite } from '../../engine/sites.ts';
import type { Services } from '../services.ts';

/** Where and with what a ProviderConfig has its machines made: one for each of several places. */
export interface Ground {
  readonly orphans: Orphans<unknown>;
  readonly check: CheckContext & AtSite;
}

/**
 * What is left of Machines that do not exist. The cache leaves out most of what is there; what it does not know is asked of the API
 * server itself, whatever the labels of a Machine are by now: a living machine is never taken for an orphan.
 */
export async function findOrphans(
  services: Pick<Services, 'kube' | 'stores' | 'installation' | 'provider'>,
  { orphans, check }: Ground,
): Promise<readonly Orphan[]> {
  const { kube, stores, installation, provider } = services;
  const found = await orphans.find({
    ...check,
    ours: { installation, provider },
    isKnown: (name) => stores.machines.get({ name }) !== undefined,
  });
  if (found.length === 0) return [];
  // After the look: a Machine is there before anything is made for it.
  const { items } = await kube.list(Machine, {}, check.signal);
  const names = new Set(items.map(({ metadata }) => metadata.name));
  return found.filter(({ machine }) => !names.has(machine));
}
