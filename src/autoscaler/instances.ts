import { findFalseCondition, isConditionTrue } from '../api/conditions.ts';
import type { Machine } from '../api/machine.ts';
import { shortageReasonsOf } from '../controllers/shared/shortage-reasons.ts';
import type { Platform } from '../engine/platform.ts';
import type { Facts } from '../engine/step.ts';

/** What an autoscaler does about an error: after the first it tries other node groups for a while. */
export type InstanceErrorClass = 'out-of-resources' | 'other';

/** A Machine as an autoscaler sees it. */
export interface MachineInstance {
  /** Equals `spec.providerID` of the Node: an instance without a Node is deleted after a while. */
  readonly id: string;
  readonly state: 'creating' | 'running' | 'deleting';
  readonly error?: { readonly code: string; readonly message: string; readonly class: InstanceErrorClass } | undefined;
}

/** The provider id of a Machine; undefined while its platform does not know it. */
export const instanceIdOf = (platform: Pick<Platform, 'providerIdOf'>, { status }: Machine): string | undefined =>
  platform.providerIdOf((status?.progress?.facts ?? {}) as Facts);

/** The id of a Machine before that. No Node has it. */
export const placeholderIdOf = ({ metadata }: Machine): string => `machine://${metadata.name}`;

const maxMessageLength = 1024;

export function describeInstance(
  platform: Pick<Platform, 'providerIdOf' | 'shortageReasons'>,
  machine: Machine,
  isLeaving: boolean,
): MachineInstance {
  const id = instanceIdOf(platform, machine) ?? placeholderIdOf(machine);
  if (isLeaving) return { id, state: 'deleting' };
  if (hasJoined(machine)) return { id, state: 'running' };
  const error = findCreationError(platform, machine);
  return { id, state: 'creating', ...(error && { error }) };
}

/** A node that is broken now is running: what to do about it is decided by its Machine, not by an autoscaler. */
const hasJoined = ({ status }: Machine): boolean =>
  status?.progress?.facts['joined'] === true || isConditionTrue(status?.conditions, 'Joined');

/** Why a Machine in creation cannot go on, if only a user, or more hardware, changes that. */
function findCreationError(
  platform: Pick<Platform, 'shortageReasons'>,
  machine: Machine,
): MachineInstance['error'] | undefined {
  const conditions = machine.status?.conditions;
  const found = findFalseCondition(conditions, 'Provisioned') ?? findFalseCondition(conditions, 'Joined');
  if (!found) return undefined;
  const message = found.message.slice(0, maxMessageLength);
  if (shortageReasonsOf(platform).includes(found.reason))
    return { code: found.reason, message, class: 'out-of-resources' };
  return machine.status?.phase === 'Failed' ? { code: found.reason, message, class: 'other' } : undefined;
}
