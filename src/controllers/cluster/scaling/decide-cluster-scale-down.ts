import { isTrustRolloutDue } from '../../rollout/oidc-trust/roll-out-trust.ts';
import type { ClusterView } from '../view.ts';
import { comparePoolsOf } from './cluster-pools.ts';
import { decideScaleDown, type ScaleDownDecision } from './decide-scale-down.ts';

/** What to do for the Machines that a Cluster has too many. Nothing without an accepted spec. */
export function decideClusterScaleDown(view: ClusterView): ScaleDownDecision {
  const { cluster, spec, machines, proof, secrets, scaleDownObstacles, shortageReasons } = view;
  if (!spec || !secrets?.bootstrappedAt || cluster.metadata.deletionTimestamp) return { kind: 'none' };
  return decideScaleDown({
    pools: comparePoolsOf(view),
    maxUnavailable: spec.rollout.maxUnavailable,
    isReachable: proof?.ok === true,
    isTrustPending: secrets.trust !== undefined && isTrustRolloutDue(machines, secrets.trust),
    obstacles: scaleDownObstacles ?? [],
    shortageReasons: shortageReasons ?? [],
  });
}
