import { findFalseCondition, isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { isReplacing, isUpdating } from '../../rollout/machine-change.ts';
import type { ScaleDownObstacle } from '../view.ts';
import type { PoolBalance } from './machine-slots.ts';

/** The pools of a cluster, and what else may hold up a deletion. */
export interface ScaleDownView {
  readonly pools: readonly PoolBalance[];
  /** Number of Machines of a worker pool that may be in deletion at the same time. */
  readonly maxUnavailable: number;
  /** The API server answered in this reconcile. */
  readonly isReachable: boolean;
  /** The OIDC issuers of the control planes are being changed. */
  readonly isTrustPending: boolean;
  /** What this reconcile has found out when it was about to delete one, of each pool. */
  readonly obstacles: readonly ScaleDownObstacle[];
  /** Reasons with which a Machine waits for what its platform does not have. */
  readonly shortageReasons?: readonly string[];
}

/** What to do for the Machines that a cluster has too many. */
export type ScaleDownDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly message: string }
  /** One Machine of the pool is to be deleted. */
  | { readonly kind: 'remove'; readonly pool: PoolBalance };

/** Decides from the view alone. Control planes first: their number must not stay even. */
export function decideScaleDown(view: ScaleDownView): ScaleDownDecision {
  const surplus = view.pools.filter((pool) => pool.surplus.length > 0);
  if (surplus.length === 0) return { kind: 'none' };
  const obstacles: string[] = [];
  for (const pool of surplus) {
    const obstacle = findCommonObstacle(view) ?? findPoolObstacle(view, pool);
    if (obstacle === undefined) return { kind: 'remove', pool };
    obstacles.push(obstacle);
  }
  return { kind: 'wait', message: obstacles[0] ?? '' };
}

function findCommonObstacle({ pools, isReachable, isTrustPending }: ScaleDownView): string | undefined {
  if (!isReachable) return 'The API server does not answer.';
  if (isTrustPending) return 'The OIDC issuers of the control planes are being changed.';
  // A Machine whose update failed waits for a user, who may want to have less instead.
  const updating = pools.flatMap(({ present }) => present).find((one) => isUpdating(one) && !isReplacing(one));
  return updating && `${updating.metadata.name} is being updated.`;
}

function findPoolObstacle(view: ScaleDownView, pool: PoolBalance): string | undefined {
  const found = pool.role === 'controlplane' ? findControlPlaneObstacle(view) : findWorkerObstacle(view, pool);
  return found ?? view.obstacles.find((one) => one.pool === pool.pool)?.message;
}

/** One change of a cluster at a time, and only of a cluster that is healthy without the surplus. */
function findControlPlaneObstacle({ pools }: ScaleDownView): string | undefined {
  const [leaving] = pools.flatMap((pool) => pool.leaving);
  if (leaving) return describeLeaving(leaving);
  const [missing] = pools.flatMap((pool) => pool.missing);
  if (missing) return `${missing.name} does not exist yet.`;
  const kept = pools.flatMap(({ present, surplus }) => present.filter((machine) => !surplus.includes(machine)));
  const unready = kept.find(({ status }) => !isConditionTrue(status?.conditions, 'Ready'));
  return unready && `${unready.metadata.name} is not ready.`;
}

/** Nodes that are not ready do not hold up the deletion of a worker, unless it is replaced. */
function findWorkerObstacle(view: ScaleDownView, pool: PoolBalance): string | undefined {
  const { pools, maxUnavailable } = view;
  const elsewhere = pools.filter((one) => one !== pool).flatMap(({ leaving }) => leaving);
  const holding = elsewhere[0] ?? (pool.leaving.length >= maxUnavailable ? pool.leaving[0] : undefined);
  return holding ? describeLeaving(holding) : findSuccessorObstacle(view, pool);
}

/**
 * A Machine that is replaced goes when the others of its pool do its work, its successor among them; or at once if the
 * successor waits for what the platform does not have: it needs that of the old one.
 */
function findSuccessorObstacle(
  { shortageReasons = [] }: ScaleDownView,
  { present, missing, surplus: [chosen], toDelete }: PoolBalance,
): string | undefined {
  if (!chosen || !isReplacing(chosen) || toDelete.includes(chosen)) return undefined;
  const [next] = missing;
  if (next) return `${next.name} does not exist yet.`;
  const isShort = ({ status }: Machine): boolean =>
    shortageReasons.includes(findFalseCondition(status?.conditions, 'Provisioned')?.reason ?? '');
  const unready = present.find(
    (one) => !isReplacing(one) && !isConditionTrue(one.status?.conditions, 'Ready') && !isShort(one),
  );
  return unready && `${unready.metadata.name} is not ready.`;
}

const describeLeaving = ({ metadata }: Machine): string => `${metadata.name} is being deleted.`;
