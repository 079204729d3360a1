import { setTimeout as delay } from 'node:timers/promises';
import { differingKeys, type StateSnapshot } from '../state-snapshot.ts';

/**
 * The snapshot of an idle state: as expected, or, without an expectation, equal twice in a row. The last one after
 * `seconds`.
 */
export async function stableSnapshot(
  take: () => Promise<StateSnapshot>,
  expected: StateSnapshot | undefined,
  { seconds, pauseMs }: { readonly seconds: number; readonly pauseMs: number },
): Promise<StateSnapshot> {
  const end = performance.now() + seconds * 1000;
  let shape = await take();
  for (let aim = expected; performance.now() < end; aim = expected ?? shape) {
    if (aim && differingKeys(shape, aim).length === 0) break;
    await delay(pauseMs);
    shape = await take();
  }
  return shape;
}
