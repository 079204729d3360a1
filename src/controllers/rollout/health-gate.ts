import type { Machine } from '../../api/machine.ts';
import { isComparedWith, isInHand, isReady } from './machine-change.ts';

/** What a rollout needs to know of a cluster beside the Machine that it is about to change. */
export interface GateView {
  readonly machines: readonly Machine[];
  /** Names of Machines that do not exist yet. */
  readonly missing: readonly string[];
  /** Hash of the current spec. */
  readonly spec: string;
  /** The API server answered in this reconcile. */
  readonly isReachable: boolean;
  /** Another rollout changes the control planes. */
  readonly isTrustPending: boolean;
  /** Number of nodes of a worker pool that may be unavailable. */
  readonly maxUnavailable: number;
}

/**
 * Why `next` may not be changed now: a change during another disturbance could add to it. The Machines that are being
 * changed, and `next` itself, need not be ready. Other Machines of its pool that are not ready count against the number of
 * those that may be unavailable.
 */
export function findGateProblem(view: GateView, next: Machine): string | undefined {
  const { machines, missing, spec, isReachable, isTrustPending } = view;
  if (isTrustPending) return 'The OIDC issuers of the control planes are being changed.';
  if (!isReachable) return 'The API server does not answer.';
  if (missing.length > 0) return `${missing[0]} does not exist yet.`;
  const busy = machines.map(describeOtherWork).find((text) => text !== undefined);
  if (busy !== undefined) return busy;
  const others = machines.filter((machine) => machine !== next && !isInHand(machine));
  const unready = others.find((machine) => !isReady(machine) && !isInSamePool(machine, next));
  if (unready) return `${unready.metadata.name} is not ready.`;
  const crowded = findCrowdedPool(view, next);
  if (crowded !== undefined) return crowded;
  // A control plane that differs must not be changed after a worker only because it was compared later.
  const unknown = machines.find((machine) => !isInHand(machine) && !isComparedWith(machine, spec));
  return unknown && `${unknown.metadata.name} was not compared with the current spec yet.`;
}

function describeOtherWork({ metadata, spec, status }: Machine): string | undefined {
  if (metadata.deletionTimestamp) return `${metadata.name} is being deleted.`;
  if (spec.remediation) return `${metadata.name} is unhealthy, and is being restarted or replaced.`;
  const { plan, finishedAt } = status?.progress ?? {};
  if (plan === 'repair') return `${metadata.name} is being repaired.`;
  return plan === 'provision' && finishedAt === undefined ? `${metadata.name} is being provisioned.` : undefined;
}

const isInSamePool = (machine: Machine, next: Machine): boolean =>
  next.spec.role === 'worker' && machine.spec.role === 'worker' && machine.spec.pool === next.spec.pool;

/** As many nodes of the pool as may be are unavailable already. */
function findCrowdedPool({ machines, maxUnavailable }: GateView, next: Machine): string | undefined {
  const unavailable = machines.filter(
    (machine) => machine !== next && isInSamePool(machine, next) && (isInHand(machine) || !isReady(machine)),
  );
  if (unavailable.length < maxUnavailable) return undefined;
  const unready = unavailable.find((machine) => !isReady(machine)) ?? unavailable[0];
  if (!unready) return undefined;
  return isInHand(unready) ? `${unready.metadata.name} is being changed.` : `${unready.metadata.name} is not ready.`;
}
