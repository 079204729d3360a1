import { findFalseCondition, isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';

/** The Machines of a cluster, control planes first, and what else may hold up a change. */
export interface RolloutView {
  readonly machines: readonly Machine[];
  /** Names of Machines that do not exist yet. */
  readonly missing: readonly string[];
  /** Hash of the current spec. */
  readonly spec: string;
  /** The API server answered in this reconcile. */
  readonly isReachable: boolean;
  /** Another rollout changes the control planes. */
  readonly isTrustPending: boolean;
}

/** What to do for the Machines that are not up to date. At most one of a cluster is changed at the same time. */
export type RolloutDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly message: string }
  /** Nothing more is changed before a user acts. */
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'update'; readonly machine: Machine; readonly revision: string };

/** Decides from the view alone. */
export function decideRollout(view: RolloutView): RolloutDecision {
  const { machines } = view;
  const updating = machines.find(isUpdating);
  if (updating) return describeUpdating(updating);
  const next = machines.find(isWaiting);
  if (!next?.status?.pending) return { kind: 'none' };
  const obstacle = findObstacle(view);
  if (obstacle !== undefined) return { kind: 'wait', message: obstacle };
  return { kind: 'update', machine: next, revision: next.status.pending.revision };
}

/** It was told to apply a configuration that it does not have yet, or its steps are not finished. */
export const isUpdating = ({ spec, status, metadata }: Machine): boolean =>
  !metadata.deletionTimestamp &&
  (status?.progress?.plan === 'update' ||
    (status?.pending?.class === 'live' && spec.revision === status.pending.revision));

/** It has a change that can be applied to the running node. */
export const isWaiting = ({ status, metadata }: Machine): boolean =>
  !metadata.deletionTimestamp && status?.pending?.class === 'live';

function describeUpdating({ metadata, status }: Machine): RolloutDecision {
  const state = findFalseCondition(status?.conditions, 'UpToDate');
  const message = `${metadata.name}: ${state?.message ?? 'The update begins.'}`;
  return state?.reason === 'UpdateFailed' ? { kind: 'failed', message } : { kind: 'wait', message };
}

/** Why no node may be changed now: a change during another disturbance could add to it. */
function findObstacle({ machines, missing, spec, isReachable, isTrustPending }: RolloutView): string | undefined {
  if (isTrustPending) return 'The OIDC issuers of the control planes are being changed.';
  if (!isReachable) return 'The API server does not answer.';
  if (missing.length > 0) return `${missing[0]} does not exist yet.`;
  const deleted = machines.find(({ metadata }) => metadata.deletionTimestamp);
  if (deleted) return `${deleted.metadata.name} is being deleted.`;
  const unready = machines.find(({ status }) => !isConditionTrue(status?.conditions, 'Ready'));
  if (unready) return `${unready.metadata.name} is not ready.`;
  // A control plane that differs must not be changed after a worker only because it was compared later.
  const unknown = machines.find(({ status }) => status?.compared !== spec);
  return unknown && `${unknown.metadata.name} was not compared with the ProviderConfig yet.`;
}
