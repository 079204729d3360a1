import type { Condition, ConditionReason, ConditionType } from '../../api/conditions.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import type { KubeObject } from '../../kube/resource.ts';

export interface ConditionEvent {
  readonly type: 'Normal' | 'Warning';
  /** The reason of the condition; the type of the condition when it is true again. */
  readonly reason: string;
  readonly message: string;
}

/** Reasons with which a condition is false while everything goes as planned, or as a user asked for. */
const plannedReasons: ReadonlySet<string> = new Set<ConditionReason>([
  'BackupPending',
  'OutsideWindow',
  'Releasing',
  'RemediationPending',
  'Remediating',
  'Restoring',
  'RolloutPaused',
  'RotationPending',
  'Rotating',
  'StepWaiting',
  'UpdatePending',
  'Updating',
  'WaitingForBootstrap',
  'WaitingForCluster',
  'WaitingForDeletion',
  'WaitingForEndpoint',
  'WaitingForMachines',
  'WaitingForSecrets',
  'WaitingForTrust',
]);

type Conditions = readonly Condition[] | undefined;

/**
 * The changes of conditions that a person wants to know of: one that was true is not, one is false for a reason that somebody
 * has to do something about, one is true again. Neither progress nor the first time that something is true is an Event.
 * `Ready` is never lost as planned.
 */
export function decideConditionEvents(
  types: readonly ConditionType[],
  before: Conditions,
  now: Conditions,
): ConditionEvent[] {
  const find = (list: Conditions, type: ConditionType) => list?.find((condition) => condition.type === type);
  return types.flatMap((type) => describeChange(find(before, type), find(now, type)) ?? []);
}

function describeChange(was: Condition | undefined, is: Condition | undefined): ConditionEvent | undefined {
  if (!is || (was?.status === is.status && was.reason === is.reason)) return undefined;
  if (is.status !== 'True') return describeLoss(is, was?.status === 'True');
  return was?.status === 'False'
    ? { type: 'Normal', reason: is.type, message: `It is true now, after ${was.reason}.` }
    : undefined;
}

function describeLoss({ type, status, reason, message }: Condition, wasTrue: boolean): ConditionEvent | undefined {
  const isUnsure = status === 'Unknown' && !(type === 'Ready' && wasTrue);
  if (isUnsure) return undefined;
  const isPlanned = plannedReasons.has(reason) && !(type === 'Ready' && wasTrue);
  if (isPlanned) return wasTrue ? { type: 'Normal', reason, message } : undefined;
  return { type: 'Warning', reason, message: message || `${type} is not true.` };
}

/** Records them, except for those that are recorded elsewhere. */
export function recordConditionEvents(
  events: Pick<EventRecorder, 'record'>,
  object: KubeObject,
  changes: readonly ConditionEvent[],
  recordedElsewhere: readonly string[] = [],
): void {
  for (const { type, reason, message } of changes)
    if (!recordedElsewhere.includes(reason)) events.record(object, type, reason, message, 'condition');
}
