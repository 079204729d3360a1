import { findFalseCondition } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../../engine/advance.ts';
import type { Services } from '../../shared/services.ts';
import type { MachineObservation } from '../observe-machine.ts';
import { clearApprovals, type MachineApprovals, reasonsToRepair, withRepairMessages } from './approvals.ts';

/**
 * Interval for a running machine. Together with the cached answer of a platform, a change is seen in less than a
 * minute.
 */
const observeIntervalSeconds = 45;
/** Interval for a monitored Machine, as a safety net for missed changes. */
const monitoredIntervalSeconds = 3600;
/** Interval after a repair that left the same or another drift. */
const repairRetrySeconds = 15;
/**
 * Minimum interval for a node that has not joined. A check costs one handshake, and the interval grows with the time of
 * waiting.
 */
const minJoinCheckSeconds = 3;

interface RepairTask {
  readonly services: Services;
  readonly machine: Machine;
  readonly signal: AbortSignal;
  /** Monitors the Machine for changes. False: its platform does not support that. */
  monitor(fingerprint: string): boolean;
}

/** A provisioned Machine as it was observed, after its repair if there was one. */
export interface RepairedMachine {
  readonly progress: Progress;
  readonly observation: MachineObservation;
  /** As they were before the repair. */
  readonly approvals: MachineApprovals;
  /** The result of the repair steps; undefined if nothing was repaired. */
  readonly repair: AdvanceResult | undefined;
}

/** The state of a provisioned Machine and the time of its next reconcile. */
interface RepairResult {
  readonly verdict: AdvanceResult;
  readonly observation: MachineObservation;
  readonly seconds: number;
}

/** The progress record of a provisioned Machine that is not in repair. */
export const asProvisioned = (progress: Progress, now: Date): Progress => ({
  ...progress,
  ...{ plan: 'provision', step: '', failures: 0, finishedAt: progress.finishedAt ?? now.toISOString() },
});

/** Removes the approvals that are done with, and monitors a Machine that is as it was created. */
export async function concludeRepair(
  { services, machine, signal, monitor }: RepairTask,
  { progress, observation, approvals, repair }: RepairedMachine,
): Promise<RepairResult> {
  const reported = { ...observation, drift: withRepairMessages(observation.drift, approvals) };
  if (repair && repair.kind !== 'finished')
    return { verdict: repair, observation: reported, seconds: Math.min(repair.seconds, observeIntervalSeconds) };
  const { unchangedFingerprint, isUnobservable, drift, facts } = observation;
  if (!isUnobservable) await clearApprovals(services, machine, drift, { repaired: repair !== undefined, signal });
  const isMonitored = unchangedFingerprint !== undefined && monitor(unchangedFingerprint);
  const learned = { ...progress, facts: { ...progress.facts, ...facts } };
  const verdict: AdvanceResult = { kind: 'finished', progress: asProvisioned(learned, services.clock.now()) };
  const isRepairDue = repair !== undefined && reasonsToRepair(drift, approvals).length > 0;
  if (isRepairDue) return { verdict, observation: reported, seconds: repairRetrySeconds };
  if (observation.notJoined !== undefined)
    return { verdict, observation: reported, seconds: joinCheckSeconds(machine, services) };
  return { verdict, observation: reported, seconds: isMonitored ? monitoredIntervalSeconds : observeIntervalSeconds };
}

/** Seconds until the next check of a node that is not a member. */
function joinCheckSeconds({ status }: Machine, { clock }: Pick<Services, 'clock'>): number {
  const missed = findFalseCondition(status?.conditions, 'Joined');
  const seconds = missed ? (clock.now().getTime() - Date.parse(missed.lastTransitionTime)) / 1000 : 0;
  return Math.min(observeIntervalSeconds, Math.max(minJoinCheckSeconds, seconds / 10));
}
