import { findFalseCondition, isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { changeOf, isComparedWith } from '../machine-change.ts';

/** How far the running nodes of a ProviderConfig have followed it. */
export interface RolloutSummary {
  readonly total: number;
  /** Machines that are as the current spec wants them. */
  readonly updated: number;
  /** Machines that are being changed. */
  readonly updating: number;
  readonly failed: number;
  /** Nothing is left that a rollout could do. Changes that cannot be made do not count. */
  readonly isSettled: boolean;
  /** When the oldest difference was found that is not applied yet. */
  readonly outdatedSince: Date | undefined;
}

/** `hashOf`: the hash of the current spec of a Machine's cluster; undefined if the spec is rejected. */
export function summarizeRollout(
  machines: readonly Machine[],
  hashOf: (machine: Machine) => string | undefined,
): RolloutSummary {
  const kept = machines.filter(({ metadata, status }) => !metadata.deletionTimestamp && status?.compared !== undefined);
  const isCurrent = (machine: Machine): boolean => {
    const hash = hashOf(machine);
    return hash === undefined || isComparedWith(machine, hash);
  };
  const isUpdated = (machine: Machine): boolean =>
    isCurrent(machine) && isConditionTrue(machine.status?.conditions, 'UpToDate');
  const changes = kept.map(changeOf);
  const times = kept.flatMap(({ status }) => {
    const found = findFalseCondition(status?.conditions, 'UpToDate');
    return found ? [Date.parse(found.lastTransitionTime)] : [];
  });
  return {
    total: kept.length,
    updated: kept.filter(isUpdated).length,
    updating: changes.filter((change) => ['changing', 'replacing', 'superseded'].includes(change)).length,
    failed: changes.filter((change) => change === 'failed').length,
    isSettled: kept.every(isCurrent) && changes.every((change) => change === 'none' || change === 'reported'),
    outdatedSince: times.length > 0 ? new Date(Math.min(...times)) : undefined,
  };
}
