import { findFalseCondition } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { AdvanceResult, Progress } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import type { MachineObservation } from '../machine/observe-machine.ts';
import type { Services } from '../shared/services.ts';
import { approvalsOf, clearApprovals, reasonsToRepair, withRepairMessages } from './approvals.ts';

/** How often a machine that runs is looked at: with an answer that is shared for a while, less than a minute in all. */
const observeIntervalSeconds = 45;
/** How often one is whose every change is told, in case that something was not. */
const monitoredIntervalSeconds = 3600;
/** After something was put right and is amiss all the same, or something else is. */
const repairRetrySeconds = 15;
/** Of a node that is waited for: it costs one handshake, and the longer it is away the less often it is asked. */
const minJoinCheckSeconds = 3;

/** How a machine that was made is seen, and put right where that may be. */
export interface RemediationActions {
  readonly signal: AbortSignal;
  look(progress: Progress): Promise<MachineObservation>;
  /** Has it woken when something changes about it. False: nobody can see to that. */
  rest(trace: string): boolean;
  /** Undefined where the platform can put nothing right. */
  mend?(reasons: readonly string[]): Promise<AdvanceResult>;
}

/** How a machine that was made is kept, and when it is looked at again. */
export interface RemediationResult {
  readonly verdict: AdvanceResult;
  readonly observed: MachineObservation;
  readonly seconds: number;
  /** What was found to be put right, as it is told. */
  readonly mended: readonly Drift[];
}

/** The record of a machine that was made, and is not being put right at the moment. */
export const asProvisioned = (progress: Progress, now: Date): Progress => ({
  ...progress,
  ...{ plan: 'provision', step: '', failures: 0, finishedAt: progress.finishedAt ?? now.toISOString() },
});

/** Looks at a machine that was made, puts right what may be, and looks again. */
export async function remediateMachine(
  services: Services,
  machine: Machine,
  progress: Progress,
  hands: RemediationActions,
): Promise<RemediationResult> {
  const wishes = approvalsOf(machine);
  const rest = (record: Progress): AdvanceResult => ({
    kind: 'finished',
    progress: asProvisioned(record, services.clock.now()),
  });
  const withFacts = (record: Progress, { learned }: MachineObservation): Progress => ({
    ...record,
    facts: { ...record.facts, ...learned },
  });
  const tell = (seen: MachineObservation): MachineObservation => ({
    ...seen,
    drift: withRepairMessages(seen.drift, wishes),
  });
  let observed = await hands.look(progress);
  let verdict = rest(withFacts(progress, observed));
  const due = reasonsToRepair(observed.drift, wishes);
  const mends = hands.mend !== undefined && due.length > 0;
  const mended = mends ? tell(observed).drift.filter(({ reason }) => due.includes(reason)) : [];
  if (hands.mend && mends) {
    const walked = await hands.mend(due);
    const seconds = 'seconds' in walked ? Math.min(walked.seconds, observeIntervalSeconds) : repairRetrySeconds;
    if (walked.kind !== 'finished') return { verdict: walked, observed: tell(observed), seconds, mended };
    observed = await hands.look(rest(walked.progress).progress);
    verdict = rest(withFacts(walked.progress, observed));
  }
  if (!observed.unseen)
    await clearApprovals(services, machine, observed.drift, { mended: mends, signal: hands.signal });
  const more = mends && reasonsToRepair(observed.drift, wishes).length > 0;
  const rests = observed.restsBy !== undefined && hands.rest(observed.restsBy);
  const usual = rests ? monitoredIntervalSeconds : observeIntervalSeconds;
  const seconds = more
    ? repairRetrySeconds
    : observed.notJoined === undefined
      ? usual
      : joinCheckSeconds(machine, services);
  return { verdict, observed: tell(observed), seconds, mended };
}

/** When a node that is no member at the moment is looked at again. */
function joinCheckSeconds({ status }: Machine, { clock }: Pick<Services, 'clock'>): number {
  const missed = findFalseCondition(status?.conditions, 'Joined');
  const seconds = missed ? (clock.now().getTime() - Date.parse(missed.lastTransitionTime)) / 1000 : 0;
  return Math.min(observeIntervalSeconds, Math.max(minJoinCheckSeconds, seconds / 10));
}
