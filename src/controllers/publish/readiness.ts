import type { Cluster } from '../../api/openmcp/types.ts';

/** A Cluster is published the first time after it has been ready for so long. */
export const stableSeconds = 10;

/** How long until a Cluster may be published the first time; infinite while it is not ready. */
export function secondsUntilStable({ status }: Cluster, now: Date): number {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return Number.POSITIVE_INFINITY;
  const readyFor = (now.getTime() - Date.parse(ready.lastTransitionTime)) / 1000;
  // A time in the future is that of another clock.
  return Math.min(stableSeconds, Math.max(0, Math.ceil(stableSeconds - readyFor)));
}
