import { findFalseCondition } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import type { MachineObservation } from '../machine/observe-machine.ts';
import type { Services } from '../shared/services.ts';
import { approvalsOf, clearApprovals, reasonsToRepair, withRepairMessages } from './approvals.ts';

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

/** How a provisioned Machine is observed and repaired. */
export interface RemediationActions {
  readonly signal: AbortSignal;
  observe(progress: Progress): Promise<MachineObservation>;
  /** Monitors the Machine for changes. False: its platform does not support that. */
  finish(fingerprint: string): boolean;
  /** Undefined if the platform cannot repair anything. */
  repair?(reasons: readonly string[]): Promise<AdvanceResult>;
}

/** The state of a provisioned Machine and the time of its next reconcile. */
export interface RemediationResult {
  readonly observation: AdvanceResult;
  readonly observed: MachineObservation;
  readonly seconds: number;
  /** The drift that a repair was started for, with its messages. */
  readonly repaired: readonly Drift[];
}

/** The progress record of a provisioned Machine that is not in repair. */
export const asProvisioned = (progress: Progress, now: Date): Progress => ({
  ...progress,
  ...{ plan: 'provision', step: '', failures: 0, finishedAt: progress.finishedAt ?? now.toISOString() },
});

/** Observes a provisioned Machine, repairs permitted drift and observes it again. */
export async function remediateMachine(
  services: Services,
  machine: Machine,
  progress: Progress,
  actions: RemediationActions,
): Promise<RemediationResult> {
  const desiredSpecs = approvalsOf(machine);
  const rest = (record: Progress): AdvanceResult => ({
    kind: 'finished',
    progress: asProvisioned(record, services.clock.now()),
  });
  const withFacts = (record: Progress, { facts }: MachineObservation): Progress => ({
    ...record,
    facts: { ...record.facts, ...facts },
  });
  const withoutDeferred = (seen: MachineObservation): MachineObservation => ({
    ...seen,
    drift: withRepairMessages(seen.drift, desiredSpecs),
  });
  let observed = await actions.observe(progress);
  let verdict = rest(withFacts(progress, observed));
  const due = reasonsToRepair(observed.drift, desiredSpecs);
  const repairs = actions.repair !== undefined && due.length > 0;
  const repaired = repairs ? withoutDeferred(observed).drift.filter(({ reason }) => due.includes(reason)) : [];
  if (actions.repair && repairs) {
    const walked = await actions.repair(due);
    const seconds = 'seconds' in walked ? Math.min(walked.seconds, observeIntervalSeconds) : repairRetrySeconds;
    if (walked.kind !== 'finished')
      return { observation: walked, observed: withoutDeferred(observed), seconds, repaired };
    observed = await actions.observe(rest(walked.progress).progress);
    verdict = rest(withFacts(walked.progress, observed));
  }
  if (!observed.isUnobservable)
    await clearApprovals(services, machine, observed.drift, { repaired: repairs, signal: actions.signal });
  const more = repairs && reasonsToRepair(observed.drift, desiredSpecs).length > 0;
  const isUnchanged = observed.unchangedFingerprint !== undefined && actions.finish(observed.unchangedFingerprint);
  const usual = isUnchanged ? monitoredIntervalSeconds : observeIntervalSeconds;
  const seconds = more
    ? repairRetrySeconds
    : observed.notJoined === undefined
      ? usual
      : joinCheckSeconds(machine, services);
  return { observation: verdict, observed: withoutDeferred(observed), seconds, repaired };
}

/** Seconds until the next check of a node that is not a member. */
function joinCheckSeconds({ status }: Machine, { clock }: Pick<Services, 'clock'>): number {
  const missed = findFalseCondition(status?.conditions, 'Joined');
  const seconds = missed ? (clock.now().getTime() - Date.parse(missed.lastTransitionTime)) / 1000 : 0;
  return Math.min(observeIntervalSeconds, Math.max(minJoinCheckSeconds, seconds / 10));
}
