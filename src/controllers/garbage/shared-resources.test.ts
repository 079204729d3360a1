import { describe, expect, it } from 'vitest';
import type { ResourcesInUse, SharedResource } from '../../engine/capabilities/garbage.ts';
import { assessSharedResources } from './shared-resources.ts';

/** Shared resources of a platform: whether each is attached, and whether the platform cluster names it. */
async function list(...states: { readonly isAttached: boolean; readonly isNamed: boolean }[]) {
  const there = { reads: 0, inUse: { talos: [], facts: [] } as ResourcesInUse | undefined };
  const found = states.map(
    ({ isAttached, isNamed }, index): SharedResource => ({
      ...{ description: `image ${index}`, isAttached, isNamedIn: () => isNamed, unusedSince: undefined },
      recordUnusedSince: async () => {},
      remove: async (isNamedNow) => !(await isNamedNow()),
    }),
  );
  const candidates = await assessSharedResources(found, async () => {
    there.reads += 1;
    return there.inUse;
  });
  return { candidates, there };
}

describe('a shared resource', () => {
  it('is used while it is attached or named', async () => {
    const { candidates } = await list(
      { isAttached: true, isNamed: false },
      { isAttached: false, isNamed: true },
      { isAttached: false, isNamed: false },
    );
    expect(candidates.map(({ use }) => use)).toEqual(['used', 'used', 'unused']);
  });

  it('costs no read of the platform cluster while all are attached, or without any', async () => {
    expect((await list({ isAttached: true, isNamed: false })).there.reads).toBe(0);
    expect((await list()).there.reads).toBe(0);
  });

  it('is removed unless it is named by then, or that is unknown', async () => {
    const free = { isAttached: false, isNamed: false };
    expect(await (await list(free)).candidates[0]?.remove()).toBe('Removed image 0: nothing has used it for a day.');
    const named = await list({ isAttached: false, isNamed: true });
    expect(await named.candidates[0]?.remove()).toBeUndefined();
    const unknown = await list(free);
    unknown.there.inUse = undefined;
    expect(await unknown.candidates[0]?.remove()).toBeUndefined();
  });
});
