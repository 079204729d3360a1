import type { ResourcesInUse, SharedResource } from '../../engine/capabilities/garbage.ts';
import type { GarbageScope, GarbageVisit } from './garbage-source.ts';
import { findResourcesInUse } from './resources-in-use.ts';
import { createUnusedResourceSource, garbageContextOf, type UnusedCandidate } from './unused-resources.ts';

/**
 * Resources on a platform that machines share, such as cached boot images. One is unused while no machine of the system
 * has it attached, and no ProviderConfig and no Machine names it.
 */
export const sharedResourceSource = createUnusedResourceSource({ name: 'shared resources', list: listSharedResources });

async function listSharedResources(visit: GarbageVisit, scope: GarbageScope): Promise<UnusedCandidate[]> {
  const found = (await scope.garbage.sharedResources?.(garbageContextOf(visit, scope))) ?? [];
  return await assessSharedResources(found, () => findResourcesInUse(visit.services, visit.signal));
}

/** `readInUse` reads from the API server what it names; undefined: that is unknown. */
export async function assessSharedResources(
  found: readonly SharedResource[],
  readInUse: () => Promise<ResourcesInUse | undefined>,
): Promise<UnusedCandidate[]> {
  const inUse = found.every(({ isAttached }) => isAttached) ? undefined : await readInUse();
  const useOf = (one: SharedResource): UnusedCandidate['use'] => {
    if (one.isAttached) return 'used';
    if (!inUse) return 'unknown';
    return one.isNamedIn(inUse) ? 'used' : 'unused';
  };
  const isNamedNow = async (one: SharedResource): Promise<boolean> => {
    const now = await readInUse();
    return now === undefined || one.isNamedIn(now);
  };
  return found.map((one) => ({
    use: useOf(one),
    unusedSince: one.unusedSince,
    recordUnusedSince: (since) => one.recordUnusedSince(since),
    remove: async () =>
      (await one.remove(() => isNamedNow(one)))
        ? `Removed ${one.description}: nothing has used it for a day.`
        : undefined,
  }));
}
