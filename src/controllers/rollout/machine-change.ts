import { findFalseCondition, isConditionTrue, isUpdateFailure } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { type ChangeClass, updatableClasses } from '../../engine/change-class.ts';
import { isUpdateOpen } from '../../talos/update/update-context.ts';
import { isRemediatedByReplacement } from '../remediation/unhealthy-machines.ts';

/**
 * What a rollout knows of a Machine from its object alone.
 *
 * `none`: nothing to do. `reported`: its change cannot be made. `waiting`: its change was not released yet. `changing`: it
 * was, and is not finished. `replacing`: it was, and another Machine takes its place. `failed`: it was, and the node does not
 * get there. `superseded`: its steps run for a state that is no longer desired.
 */
export type MachineChange = 'none' | 'reported' | 'waiting' | 'changing' | 'replacing' | 'failed' | 'superseded';

export function changeOf({ spec, status, metadata }: Machine): MachineChange {
  if (metadata.deletionTimestamp) return 'none';
  const { pending, conditions, progress } = status ?? {};
  const isWalking = isUpdateOpen(progress);
  const isUpdatable = pending !== undefined && updatableClasses.has(pending.class);
  const desired = desiredRevision(status);
  const canFollow = pending === undefined || isUpdatable;
  if (isWalking && canFollow && desired !== undefined && desired !== spec.revision) return 'superseded';
  if (isWalking || (isUpdatable && pending.revision === spec.revision))
    return isUpdateFailure(findFalseCondition(conditions, 'UpToDate')?.reason) ? 'failed' : 'changing';
  return pending === undefined ? 'none' : describeUnstarted(pending, spec.revision);
}

function describeUnstarted(pending: Pending, released: string | undefined): MachineChange {
  if (pending.class === 'replace' && pending.revision === released) return 'replacing';
  return waitingClasses.has(pending.class) ? 'waiting' : 'reported';
}

type Pending = NonNullable<NonNullable<Machine['status']>['pending']>;

/** The classes of changes that a rollout may release. */
const waitingClasses: ReadonlySet<ChangeClass> = new Set([...updatableClasses, 'replace']);

/** What the Machine should be: the revision of its change, or the one that it has. */
export const desiredRevision = (status: Machine['status']): string | undefined =>
  status?.pending?.revision ?? status?.applied?.revision;

/** It was released to a change that is not finished. */
export const isInHand = (machine: Machine): boolean => isChangeInHand(changeOf(machine));

export const isChangeInHand = (change: MachineChange): boolean =>
  change === 'changing' || change === 'replacing' || change === 'failed' || change === 'superseded';

/** Another Machine takes its place: its turn in a rollout has come, or its node is unhealthy. */
export const isReplacing = (machine: Machine): boolean =>
  changeOf(machine) === 'replacing' || isRemediatedByReplacement(machine);

export const isWaiting = (machine: Machine): boolean => changeOf(machine) === 'waiting';

/** It is being changed, and has not failed. */
export function isUpdating(machine: Machine): boolean {
  const change = changeOf(machine);
  return isChangeInHand(change) && change !== 'failed';
}

export const hasFailed = (machine: Machine): boolean => changeOf(machine) === 'failed';

export const isReady = ({ status }: Machine): boolean => isConditionTrue(status?.conditions, 'Ready');

/** Whether it was compared with the spec of this hash, as the object is now. */
export const isComparedWith = ({ status, metadata }: Machine, spec: string): boolean =>
  status?.compared === spec && (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);
