import {
  type ConditionReason,
  type ConditionState,
  conditionFalse,
  conditionTrue,
  mergeConditions,
  summarizeReady,
} from '../../../api/conditions.ts';
import { type AccessRequest, openmcpPhases } from '../../../api/openmcp/types.ts';
import { isAccessUsable, isSecretOwnedBy } from '../access-secret.ts';
import { type AccessRequestDecision, type AccessRequestReport, type DecisionTime, settled } from '../decision.ts';
import type { AccessFailure } from '../explain-failure.ts';
import type { AccessRequestView } from '../view.ts';

/** Also for what a person removes or changes where no informer sees it. */
const retrySeconds = 30;

/** The conditions of a request and the time of its next reconcile. */
export interface GrantResult extends Pick<AccessRequestReport, 'warning'> {
  readonly states: readonly ConditionState[];
  readonly secretName?: string;
  readonly requeueAfterSeconds: number;
}

/** Ends a reconcile with this result. */
export const settleGrant = (
  view: AccessRequestView,
  { now }: DecisionTime,
  { warning, ...result }: GrantResult,
): AccessRequestDecision =>
  settled({
    requeueAfterSeconds: result.requeueAfterSeconds,
    status: describeGrantStatus(view, result, now),
    ...(warning ? { warning } : {}),
  });

/** The target cluster is not available. */
export function describeAwaitedCluster(state: ConditionState): GrantResult {
  const message = `${state.message} Access is granted afterwards.`;
  const reported = state.reason === 'WaitingForCluster' ? { ...state, message } : state;
  return {
    states: [reported, conditionFalse('AccessReady', 'WaitingForCluster', 'Access is not granted yet.')],
    requeueAfterSeconds: retrySeconds,
  };
}

export function describeFailure({ reason, message }: AccessFailure): GrantResult {
  if (reason !== 'WaitingForCluster') return describeRejection(reason, message, retrySeconds);
  return {
    states: [
      conditionFalse('ClusterReady', 'WaitingForCluster', message),
      conditionFalse('AccessReady', 'WaitingForCluster', message),
    ],
    requeueAfterSeconds: retrySeconds,
  };
}

export const describeRejection = (
  reason: ConditionReason,
  message: string,
  requeueAfterSeconds: number,
): GrantResult => ({
  states: [conditionTrue('ClusterReady'), conditionFalse('AccessReady', reason, message)],
  requeueAfterSeconds,
});

/**
 * Reports Granted once everything is in place. A granted request stays Granted while its token is valid, even if the
 * cluster is temporarily unreachable: the conditions show the problem. A request whose Cluster does not exist is not
 * Granted.
 */
function describeGrantStatus(
  view: AccessRequestView,
  { states, secretName }: GrantResult,
  now: Date,
): NonNullable<AccessRequest['status']> {
  const { request } = view;
  const generation = request.metadata.generation ?? 0;
  const ready = summarizeReady(states);
  const isGranted = ready.status === 'True' || (isClusterUnreachable(states) && isGrantStillUsable(view, now));
  const name = secretName ?? findExistingSecretName(view);
  return {
    observedGeneration: generation,
    phase: isGranted ? openmcpPhases.granted : openmcpPhases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [...states, ready], {
      generation,
      now,
      ...(request.spec.oidc ? {} : { drop: ['TrustReady'] as const }),
    }),
    ...(name ? { secretRef: { name } } : {}),
  };
}

/** Whether the cluster exists, as far as is known, and is only unreachable. */
const isClusterUnreachable = (states: readonly ConditionState[]): boolean =>
  states.some(
    ({ type, status, reason }) =>
      type === 'ClusterReady' && status !== 'True' && reason !== 'ClusterMissing' && reason !== 'InvalidReference',
  );

/** The status names the Secret as long as it exists, even if it cannot be renewed. */
const findExistingSecretName = ({ request, secret, isSecretRemoved }: AccessRequestView): string | undefined =>
  !isSecretRemoved && secret && isSecretOwnedBy(secret, request) ? secret.metadata.name : undefined;

function isGrantStillUsable({ request: { status, metadata }, secret }: AccessRequestView, now: Date): boolean {
  if (status?.phase !== openmcpPhases.granted || status.observedGeneration !== metadata.generation) return false;
  return secret?.metadata.name === status.secretRef?.name && isAccessUsable(secret, now);
}
