import type { AdvanceResult, Progress } from '../../../engine/advance.ts';
import { updatableClasses } from '../../../engine/change-class.ts';
import type { Drift } from '../../../engine/observation.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type DesiredNode, isUpdateOpen, type NodeChanges } from '../../../talos/update/update-context.ts';
import type { Services } from '../../shared/services.ts';
import { mayAbandonMachine } from '../abandon-machine.ts';
import { classOfChange } from '../configuration/observe-configuration.ts';
import { isMaintenancePlan, isProvisioned } from '../is-provisioned.ts';
import type { MachineObservation } from '../observe-machine.ts';
import { reasonsToRepair, withRepairMessages } from '../repair/approvals.ts';
import type { StepEnvironment } from '../step-environment.ts';
import type { DesiredMachine } from './desired.ts';
import type { ObservedMachine } from './observed.ts';

/** The steps to run now. */
export type WalkPlan = { readonly kind: 'walk'; readonly environment: StepEnvironment } & (
  | { readonly plan: 'provision' | 'release' }
  /** `drift`: to repair, with its messages. */
  | { readonly plan: 'repair'; readonly drift: readonly Drift[] }
  /** `compared`: with what the node was found to be in this reconcile. */
  | { readonly plan: 'update'; readonly desiredNode: DesiredNode; readonly compared: NodeChanges | undefined }
);

/** How the reconcile ends. */
export type MachineEnd =
  /** No step can run. */
  | { readonly kind: 'blocked'; readonly problem: ProviderError }
  /** The steps wait, or have failed. */
  | { readonly kind: 'unfinished'; readonly result: Exclude<AdvanceResult, { kind: 'finished' }> }
  | { readonly kind: 'provisioned'; readonly progress: Progress; readonly observation: MachineObservation }
  | { readonly kind: 'released'; readonly progress: Progress }
  /** The failure domain is lost: the Machine is released without touching its platform. */
  | { readonly kind: 'abandoned' };

type PlanInput = Pick<DesiredMachine, 'machine' | 'goal' | 'environment' | 'isRestoring'> & {
  readonly services: Pick<Services, 'platforms'>;
};

/** Decides from what is desired and observed alone. Each plan is walked once at most. */
export function planMachine(desired: PlanInput, observed: ObservedMachine): WalkPlan | MachineEnd {
  return desired.goal === 'release' ? planRelease(desired, observed) : planProvision(desired, observed);
}

function planRelease(
  { services, machine, environment, isRestoring }: PlanInput,
  { walk }: ObservedMachine,
): WalkPlan | MachineEnd {
  if (isRestoring)
    return { kind: 'blocked', problem: new ProviderError('CLUSTER_RESTORING', 'The machine is released after that.') };
  const stop = environment instanceof ProviderError ? environment : walk?.result;
  if (stop && mayAbandonMachine(services, machine, stop)) return { kind: 'abandoned' };
  if (environment instanceof ProviderError) return { kind: 'blocked', problem: environment };
  if (!walk) return { kind: 'walk', plan: 'release', environment };
  const { result } = walk;
  return result.kind === 'finished' ? { kind: 'released', progress: result.progress } : { kind: 'unfinished', result };
}

function planProvision(desired: PlanInput, observed: ObservedMachine): WalkPlan | MachineEnd {
  const { environment } = desired;
  const { progress, observation, blocker, walk } = observed;
  if (isProvisioned(progress) && observation)
    return (
      planMaintenance(desired, observed) ??
      holdUpdate(progress, observed) ?? { kind: 'provisioned', progress, observation }
    );
  // The servers are not erased for a node that cannot be configured.
  if (blocker) return { kind: 'blocked', problem: blocker };
  if (environment instanceof ProviderError) return { kind: 'blocked', problem: environment };
  if (!walk) return { kind: 'walk', plan: 'provision', environment };
  if (walk.result.kind === 'finished') throw new Error('a finished walk has left a Machine that is not provisioned');
  return { kind: 'unfinished', result: walk.result };
}

/** A Machine is repaired before it is updated. Undefined: neither is needed, or it was done in this reconcile. */
function planMaintenance(
  { environment, machine, isRestoring }: PlanInput,
  observed: ObservedMachine,
): WalkPlan | undefined {
  if (environment instanceof ProviderError || isMaintenancePlan(observed.walk?.plan)) return undefined;
  return planRepair(environment, observed) ?? (isRestoring ? undefined : planUpdate(environment, machine, observed));
}

function planRepair(environment: StepEnvironment, { observation, approvals }: ObservedMachine): WalkPlan | undefined {
  if (!environment.platform.repair) return undefined;
  const reasons = reasonsToRepair(observation?.drift ?? [], approvals);
  if (reasons.length === 0) return undefined;
  const drift = withRepairMessages(observation?.drift ?? [], approvals).filter(({ reason }) =>
    reasons.includes(reason),
  );
  return { kind: 'walk', plan: 'repair', environment, drift };
}

/** A change begins when the rollout of the cluster has released it. One that has begun is finished. */
function planUpdate(
  environment: StepEnvironment,
  { spec }: PlanInput['machine'],
  { observation, progress }: ObservedMachine,
): WalkPlan | undefined {
  const { configuration, desiredNode, isGone } = observation ?? {};
  if (!desiredNode || isGone) return undefined;
  const needs = configuration && classOfChange(configuration);
  const isDue = needs !== undefined && updatableClasses.has(needs);
  const isReleased = isDue && spec.revision === configuration?.revision;
  if (!isReleased && !isUpdateOpen(progress)) return undefined;
  return { kind: 'walk', plan: 'update', environment, desiredNode, compared: configuration };
}

const heldUpdateSeconds = 15;

/** An update that has begun stays in hand while it cannot go on, so that no other node is changed meanwhile. */
function holdUpdate(progress: Progress, { observation, walk }: ObservedMachine): MachineEnd | undefined {
  const obstacle = observation?.updateObstacle;
  if (obstacle === undefined || walk || !isUpdateOpen(progress)) return undefined;
  const held: Progress = { ...progress, plan: 'update' };
  const result = {
    kind: 'waiting',
    progress: held,
    seconds: heldUpdateSeconds,
    message: obstacle,
    overdue: false,
  } as const;
  return { kind: 'unfinished', result };
}
