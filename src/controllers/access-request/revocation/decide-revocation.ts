import { conditionFalse, mergeConditions } from '../../../api/conditions.ts';
import { openmcpKeys } from '../../../api/names.ts';
import { type AccessRequest, openmcpPhases } from '../../../api/openmcp/types.ts';
import { mayBeTrustedFor } from '../../rollout/oidc-trust/trust-record.ts';
import { type AccessRequestDecision, type DecisionTime, type RevocationAction, settled } from '../decision.ts';
import type { AccessRequestView } from '../view.ts';

const retrySeconds = 30;

/**
 * The next action to revoke all access of a request. The Secret and the status of a request that another provider owns
 * now are that provider's. A cluster that is proven to be lost needs no revocation.
 */
export function decideRevocation(view: AccessRequestView, time: DecisionTime): AccessRequestDecision {
  const action = decideRevocationAction(view);
  if (action) return action;
  const obstacle = findObstacle(view);
  if (obstacle === undefined || view.isClusterLost) return { kind: 'remove-finalizer', message: describeEnd(view) };
  if (view.request.spec.clusterRef && view.isClusterLost === undefined) return { kind: 'check-cluster-loss' };
  return settled({ requeueAfterSeconds: retrySeconds, ...reportObstacle(view, obstacle, time.now) });
}

/** Undefined: everything that is possible now is done. */
function decideRevocationAction(
  view: AccessRequestView,
): RevocationAction | Extract<AccessRequestDecision, { kind: 'find-target' }> | undefined {
  const { target, revocationNeed: need, identity } = view;
  if (!view.isSecretRemoved && !leavesSecretToGarbageCollection(view))
    return { kind: 'revoke-secret', ...(isOwn(view) ? {} : { onlyOfProvider: identity.provider }) };
  if (!need) return { kind: 'read-revocation-need' };
  if (need.kind !== 'access') return undefined;
  if (!target) return { kind: 'find-target' };
  const isOpen = !('waiting' in target) && !view.areObjectsRemoved && !view.failure;
  return isOpen ? { kind: 'revoke-objects' } : undefined;
}

const isOwn = ({ responsibility }: AccessRequestView): boolean => responsibility === 'own';

/**
 * Whether to leave the Secret to Kubernetes garbage collection: other finalizers are still on the request, and their
 * owners may read the Secret that it names. Its content is invalid by then. The Secret of a request that was denied or
 * assigned to another provider is deleted at once.
 */
function leavesSecretToGarbageCollection({ identity, request: { metadata, status } }: AccessRequestView): boolean {
  const isHeldByOthers = (metadata.finalizers ?? []).length > 1;
  const isOurs =
    metadata.labels?.[openmcpKeys.provider] === identity.provider && status?.phase !== openmcpPhases.denied;
  return metadata.deletionTimestamp !== undefined && isHeldByOthers && isOurs;
}

/** Why access may be left; undefined if none is. */
function findObstacle({ request, target, failure, revocationNeed: need }: AccessRequestView): string | undefined {
  if (!need || need.kind === 'nothing') return undefined;
  if (need.kind === 'unknown') return describeAwaitedCluster(need.message);
  if (target && 'waiting' in target) return describeAwaitedCluster(target.waiting.message ?? '');
  if (failure) return describeAwaitedCluster(failure.message);
  if (!mayBeTrustedFor(need.trust, request.metadata.uid)) return undefined;
  // The roles are deleted by now, so a login grants no rights. The trust is removed after them.
  const explanation = 'The permissions are revoked. The trust in the issuer is being removed from the control planes.';
  return target?.trustReport?.message ? `${explanation} ${target.trustReport.message}` : explanation;
}

const describeAwaitedCluster = (why: string): string =>
  `Access is revoked as soon as the cluster answers, or when it no longer exists. ${why}`;

const describeEnd = (view: AccessRequestView): string =>
  isOwn(view) ? 'access withdrawn' : 'access revoked: the AccessRequest no longer belongs to this provider';

function reportObstacle(view: AccessRequestView, obstacle: string, now: Date) {
  if (isOwn(view)) return { status: describeObstacle(view, obstacle, now) };
  const message = 'access of an AccessRequest that no longer belongs to this provider cannot be revoked yet';
  return { log: { level: 'info' as const, fields: { obstacle }, message } };
}

function describeObstacle(view: AccessRequestView, obstacle: string, now: Date): NonNullable<AccessRequest['status']> {
  const { metadata, status } = view.request;
  const secretRef = leavesSecretToGarbageCollection(view) ? status?.secretRef : undefined;
  const generation = metadata.generation ?? 0;
  const state = conditionFalse('AccessReady', 'WaitingForDeletion', obstacle);
  return {
    observedGeneration: generation,
    phase: openmcpPhases.pending,
    conditions: mergeConditions(status?.conditions ?? [], [state, { ...state, type: 'Ready' }], { generation, now }),
    ...(secretRef ? { secretRef } : {}),
  };
}
