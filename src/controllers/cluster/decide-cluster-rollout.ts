import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  toStepReason,
} from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { decideRollout, type RolloutDecision } from '../rollout/decide-rollout.ts';
import { hasFailed, isComparedWith, isInHand, isWaiting } from '../rollout/machine-change.ts';
import { isTrustRolloutDue } from '../rollout/oidc-trust/roll-out-trust.ts';
import { type ClusterRollout, nextClusterRollout, readClusterRollout } from '../rollout/policy/cluster-rollout.ts';
import { describeUnknownRequest, findRolloutHold, readRolloutRequest } from '../rollout/policy/rollout-hold.ts';
import { hashComparison } from '../rollout/spec-hash.ts';
import { describeUpgrade } from './decide-kubernetes.ts';
import { findMissingSlots } from './scaling/cluster-pools.ts';
import type { ClusterView } from './view.ts';

/** What to do for the Machines that are not up to date. Nothing without an accepted spec. */
export function decideClusterRollout(view: ClusterView): RolloutDecision {
  const { cluster, spec, config, machines, proof, secrets, release, now } = view;
  if (!spec || cluster.metadata.deletionTimestamp) return { kind: 'none' };
  return decideRollout({
    machines,
    missing: findMissingSlots(view).map(({ name }) => name),
    spec: hashComparison(spec, release, secrets),
    isReachable: proof?.ok === true,
    isTrustPending: secrets?.trust !== undefined && isTrustRolloutDue(machines, secrets.trust),
    pools: spec.workerPools.map(({ name }) => name),
    maxUnavailable: spec.rollout.maxUnavailable,
    hold: findRolloutHold({ cluster, config, rollout: spec.rollout, now }),
  });
}

/**
 * The Machines to try again, if the annotation `rollout` of the Cluster has had its effect and is to be removed: after
 * `retry`, and once nothing waits after `now`.
 */
export function findFulfilledRequest(view: ClusterView): { readonly retry: readonly Machine[] } | undefined {
  const { cluster, machines, spec, release, secrets } = view;
  const request = readRolloutRequest(cluster);
  if (request === 'retry') return { retry: machines.filter(hasFailed) };
  if (request !== 'now' || !spec || machines.length === 0) return undefined;
  const hash = hashComparison(spec, release, secrets);
  const isDone = machines.every((one) => isComparedWith(one, hash) && !isWaiting(one) && !isInHand(one));
  return isDone ? { retry: [] } : undefined;
}

/** How far the cluster has followed its ProviderConfig. */
export function describeClusterRollout({
  cluster,
  spec,
  revision,
  machines,
  secrets,
  release,
}: ClusterView): ClusterRollout | undefined {
  const before = readClusterRollout(cluster);
  if (!spec || revision === undefined || !secrets?.bootstrappedAt) return before;
  return nextClusterRollout(before, machines, { revision, spec: hashComparison(spec, release, secrets) });
}

/** Not part of `Ready`: a cluster serves while it is not up to date. Undefined until every Machine was compared. */
export function describeClusterUpToDate(view: ClusterView): ConditionState | undefined {
  if (view.managedBy !== undefined) return view.secrets && describeForeignNodes(view.managedBy);
  const machines = describeMachinesUpToDate(view);
  const upgrade = describeUpgrade(view);
  if (!upgrade || view.secretsProblem || view.machines.length === 0) return machines;
  const isOutdated = machines?.status === 'False';
  const message = [upgrade.message, ...(isOutdated ? [machines.message] : [])].join(' ');
  // While the rollout is at work, its reason says whether it goes on.
  return conditionFalse(
    'UpToDate',
    isOutdated && upgrade.reason === 'Updating' ? machines.reason : upgrade.reason,
    message,
  );
}

/** Whether the nodes are as they are to be, only others know. */
const describeForeignNodes = (managedBy: string): ConditionState =>
  conditionUnknown(
    'UpToDate',
    'ManagedByOthers',
    `The nodes are managed by ${managedBy}. Their number, versions, configuration and hardware are not changed by this provider, and unhealthy ones are only reported.`,
  );

function describeMachinesUpToDate(view: ClusterView): ConditionState | undefined {
  if (view.secretsProblem || !view.secrets?.bootstrappedAt || view.machines.length === 0) return undefined;
  const unknown = describeUnknownRequest(view.cluster) ?? describeUnknownRequest(view.config);
  const note = unknown === undefined ? '' : ` ${unknown}`;
  const states = view.machines.map(({ status }) => status?.conditions?.find(({ type }) => type === 'UpToDate'));
  const outdated = view.machines.flatMap(({ metadata }, i) =>
    states[i]?.status === 'False' ? [{ name: metadata.name, state: states[i] }] : [],
  );
  const [first] = outdated;
  if (!first)
    return states.every((state) => state?.status === 'True') ? conditionTrue('UpToDate', note.trim()) : undefined;
  const rollout = decideClusterRollout(view);
  const waiting = view.updateObstacle?.message ?? ('message' in rollout ? rollout.message : undefined);
  const count = `${outdated.length} of ${view.machines.length} machines are not up to date.`;
  const message = `${count} ${waiting ?? `${first.name}: ${first.state.message}`}${note}`;
  return conditionFalse('UpToDate', reasonOf(rollout, first.state.reason), message);
}

/** While nothing is to be done by the provider, the reason is that of the first Machine. */
function reasonOf(rollout: RolloutDecision, ofMachine: string): ConditionState['reason'] {
  if (rollout.kind === 'failed') return 'UpdateFailed';
  return rollout.kind === 'wait' ? rollout.reason : toStepReason(ofMachine);
}
