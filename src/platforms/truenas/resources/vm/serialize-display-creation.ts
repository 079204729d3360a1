import { ConcurrencyLimit } from '../../../../lib/resilience/concurrency-limit.ts';
import type { TrueNasClient } from '../../api/client.ts';

const displayLimits = new WeakMap<TrueNasClient, ConcurrencyLimit>();

/**
 * Creates displays of a system one at a time: TrueNAS would assign the same ports to two concurrent ones, and one of
 * the machines would not start.
 */
export function serializeDisplayCreation<T>(
  nas: TrueNasClient,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const limit = displayLimits.get(nas) ?? new ConcurrencyLimit(1);
  displayLimits.set(nas, limit);
  return limit.run(work, signal);
}
