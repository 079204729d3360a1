import { type Condition, findFalseCondition, isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { approvalsOf } from '../machine/repair/approvals.ts';

/** A Machine whose node is unhealthy. */
export interface UnhealthyMachine {
  readonly machine: Machine;
  readonly since: Date;
  readonly reason: Condition['reason'];
  /** A sentence. */
  readonly message: string;
}

/** Undefined: its node is healthy, or not known to be unhealthy, or the Machine is being deleted. */
export function findUnhealthy(machine: Machine): UnhealthyMachine | undefined {
  const { metadata, status } = machine;
  const condition = findFalseCondition(status?.conditions, 'NodeHealthy');
  if (!condition || metadata.deletionTimestamp) return undefined;
  const { reason, message, lastTransitionTime } = condition;
  return { machine, since: new Date(lastTransitionTime), reason, message };
}

export const hasHealthyNode = ({ status, metadata }: Machine): boolean =>
  metadata.deletionTimestamp === undefined && isConditionTrue(status?.conditions, 'NodeHealthy');

/** Another Machine takes its place, because its node is unhealthy. */
export const isRemediatedByReplacement = ({ spec }: Machine): boolean => spec.remediation?.action === 'Replace';

export const isInMaintenance = (machine: Machine): boolean => approvalsOf(machine).maintenance;
