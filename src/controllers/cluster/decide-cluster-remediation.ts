import { decideRemediation, type RemediationDecision } from '../remediation/decide-remediation.ts';
import { isTrustRolloutDue } from '../rollout/oidc-trust/roll-out-trust.ts';
import { comparePoolsOf, findEndpointMachine } from './scaling/cluster-pools.ts';
import type { ClusterView } from './view.ts';

/** What to do for unhealthy nodes. Nothing without an accepted spec. */
export function decideClusterRemediation(view: ClusterView): RemediationDecision {
  const { cluster, spec, machines, secrets, proof, now } = view;
  if (!spec || !secrets?.bootstrappedAt || cluster.metadata.deletionTimestamp) return { kind: 'none' };
  const pools = comparePoolsOf(view);
  return decideRemediation({
    machines,
    pools,
    endpointMachine: findEndpointMachine(view),
    policy: spec.remediation,
    restartAttempts: view.restartAttempts ?? 0,
    records: view.remediations ?? [],
    isReachable: proof?.ok === true,
    isTrustPending: secrets.trust !== undefined && isTrustRolloutDue(machines, secrets.trust),
    missing: pools.flatMap(({ missing }) => missing.map(({ name }) => name)),
    siteProblems: view.siteProblems ?? new Map(),
    now,
  });
}

/** Until the next action for an unhealthy node may begin. */
export function secondsUntilRemediation(view: ClusterView): number {
  const decision = decideClusterRemediation(view);
  if (decision.kind !== 'wait' || !decision.until) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.ceil((decision.until.getTime() - view.now.getTime()) / 1000));
}
