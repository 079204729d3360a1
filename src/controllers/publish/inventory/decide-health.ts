import type { Condition } from '../../../api/conditions.ts';

/** A cluster is reported as unhealthy after it has not answered for so long, and as healthy after it has for so long. */
export const healthSeconds = { unhealthy: 60, healthy: 10 } as const;

export interface HealthDecision {
  readonly status: 'True' | 'False';
  /** When another decision is due; undefined if none is. */
  readonly seconds?: number;
}

/**
 * What a ClusterProfile says of the API server of its cluster. Consumers may start anew at each write, so that short
 * failures are not reported. `reachable`: the condition of the Cluster; `known`: what the profile says.
 */
export function decideHealth(
  reachable: Condition | undefined,
  known: Condition['status'] | undefined,
  now: Date,
): HealthDecision {
  const status = reachable?.status === 'True' ? 'True' : 'False';
  // The credentials were tried before a profile is created.
  if (known === undefined || known === 'Unknown') return { status: 'True' };
  if (known === status) return { status };
  const after = healthSeconds[status === 'True' ? 'healthy' : 'unhealthy'];
  const heldSeconds = (now.getTime() - Date.parse(reachable?.lastTransitionTime ?? '')) / 1000;
  if (Number.isNaN(heldSeconds) || heldSeconds >= after) return { status };
  return { status: known, seconds: Math.ceil(Math.min(after, after - heldSeconds)) };
}
