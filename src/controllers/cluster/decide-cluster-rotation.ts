import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import type { AuthorityRotation } from '../../talos/secrets/authority-rotation.ts';
import { decideRotation, type RotationDecision } from '../rollout/authorities/decide-rotation.ts';
import { isTrustRolloutDue } from '../rollout/oidc-trust/roll-out-trust.ts';
import { findRolloutHold } from '../rollout/policy/rollout-hold.ts';
import { hashComparison } from '../rollout/spec-hash.ts';
import { describeUpgrade } from './decide-kubernetes.ts';
import { findMissingSlots } from './scaling/cluster-pools.ts';
import type { ClusterView } from './view.ts';

/** The decisions about a rotation that are executed. */
export type RotationAction = Extract<RotationDecision, { kind: 'begin' | 'end-request' | 'verify' | 'advance' }>;

export const readRotationRequest = ({ cluster }: Pick<ClusterView, 'cluster'>): string | undefined =>
  cluster.metadata.annotations?.[annotations.rotateCa];

/** Without an accepted spec no node can follow. */
function decideClusterRotation(view: ClusterView): RotationDecision {
  const { cluster, config, spec, secrets, machines, release, proof, now } = view;
  if (view.managedBy !== undefined && readRotationRequest(view) !== undefined)
    return { kind: 'refused', message: `The nodes are managed by ${view.managedBy}. Remove the annotation.` };
  const isAsked = readRotationRequest(view) !== undefined || secrets?.rotation !== undefined;
  if (!isAsked || !spec || !secrets?.bootstrappedAt || cluster.metadata.deletionTimestamp) return { kind: 'none' };
  return decideRotation({
    request: readRotationRequest(view),
    rotation: secrets.rotation,
    machines,
    missing: findMissingSlots(view).map(({ name }) => name),
    comparison: hashComparison(spec, release, secrets),
    isReachable: proof?.ok === true,
    otherChange: findOtherChange(view),
    hold: findRolloutHold({ cluster, config, rollout: spec.rollout, now }),
    check: view.rotationCheck,
  });
}

/** An upgrade of Kubernetes that is blocked, or has not begun, is none: it may stay so for long. */
function findOtherChange(view: ClusterView): string | undefined {
  const { secrets, machines } = view;
  if (secrets?.trust && isTrustRolloutDue(machines, secrets.trust))
    return 'The OIDC issuers of the control planes are being changed.';
  const upgrade = describeUpgrade(view);
  return upgrade?.reason === 'Updating' ? upgrade.message : undefined;
}

/** What to do now for the rotation of a cluster whose Machines are up to date. */
export function decideRotationAction(view: ClusterView): RotationAction | undefined {
  const decision = decideClusterRotation(view);
  const isAction =
    decision.kind === 'begin' ||
    decision.kind === 'end-request' ||
    decision.kind === 'verify' ||
    decision.kind === 'advance';
  return isAction ? decision : undefined;
}

/** No part of `Ready`: the cluster serves throughout. Undefined if no rotation was ever asked for. */
export function describeClusterRotation(view: ClusterView): ConditionState | undefined {
  const decision = decideClusterRotation(view);
  switch (decision.kind) {
    case 'none':
      return view.cluster.status?.conditions?.some(({ type }) => type === rotated) ? conditionTrue(rotated) : undefined;
    case 'refused':
      return conditionFalse(rotated, 'RotationRefused', decision.message);
    case 'pending':
      return conditionFalse(rotated, decision.reason, decision.message);
    case 'roll':
      return conditionFalse(rotated, 'Rotating', decision.message);
    default:
      return conditionFalse(rotated, 'Rotating', 'The next step begins.');
  }
}

const rotated = 'CertificateAuthoritiesRotated';

/** For `status.providerStatus`: no key of the authority. */
export const describeRotationProgress = ({
  authority,
  phase,
  startedAt,
}: AuthorityRotation): Record<string, string> => ({
  authority: authority === 'os' ? 'talos' : authority,
  phase,
  startedAt,
});

/** Nodes are verified by calls, and AccessRequests follow without an event for the Cluster. */
const rotatingRequeueSeconds = 5;

export function secondsUntilRotation(view: ClusterView): number {
  const { kind } = decideClusterRotation(view);
  return kind === 'none' || kind === 'refused' ? Number.POSITIVE_INFINITY : rotatingRequeueSeconds;
}
