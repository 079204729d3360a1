import { findFalse } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import type { Progress, Verdict } from '../../engine/advance.ts';
import type { Drift } from '../../engine/observation.ts';
import type { Services } from '../services.ts';
import { explain, reasonsToMend, settleAgreed, wishesOf } from './mend.ts';
import type { Observed } from './observe.ts';

/** How often a machine that runs is looked at: with an answer that is shared for a while, less than a minute in all. */
const observeSeconds = 45;
/** How often one is whose every change is told, in case that something was not. */
const restSeconds = 3600;
/** After something was put right and is amiss all the same, or something else is. */
const onceMoreSeconds = 15;
/** Of a node that is waited for: it costs one handshake, and the longer it is away the less often it is asked. */
const awaitedSeconds = 3;

/** How a machine that was made is seen, and put right where that may be. */
export interface Hands {
  readonly signal: AbortSignal;
  look(progress: Progress): Promise<Observed>;
  /** Has it woken when something changes about it. False: nobody can see to that. */
  rest(trace: string): boolean;
  /** Undefined where the platform can put nothing right. */
  mend?(reasons: readonly string[]): Promise<Verdict>;
}

/** How a machine that was made is kept, and when it is looked at again. */
export interface Kept {
  readonly verdict: Verdict;
  readonly observed: Observed;
  readonly seconds: number;
  /** What was found to be put right, as it is told. */
  readonly mended: readonly Drift[];
}

/** The record of a machine that was made, and is not being put right at the moment. */
export const asMade = (progress: Progress, now: Date): Progress => ({
  ...progress,
  ...{ plan: 'provision', step: '', failures: 0, finishedAt: progress.finishedAt ?? now.toISOString() },
});

/** Looks at a machine that was made, puts right what may be, and looks again. */
export async function keepUp(services: Services, machine: Machine, progress: Progress, hands: Hands): Promise<Kept> {
  const wishes = wishesOf(machine);
  const rest = (record: Progress): Verdict => ({ kind: 'finished', progress: asMade(record, services.clock.now()) });
  const withFacts = (record: Progress, { learned }: Observed): Progress => ({
    ...record,
    facts: { ...record.facts, ...learned },
  });
  const tell = (seen: Observed): Observed => ({ ...seen, drift: explain(seen.drift, wishes) });
  let observed = await hands.look(progress);
  let verdict = rest(withFacts(progress, observed));
  const due = reasonsToMend(observed.drift, wishes);
  const mends = hands.mend !== undefined && due.length > 0;
  const mended = mends ? tell(observed).drift.filter(({ reason }) => due.includes(reason)) : [];
  if (hands.mend && mends) {
    const walked = await hands.mend(due);
    const seconds = 'seconds' in walked ? Math.min(walked.seconds, observeSeconds) : onceMoreSeconds;
    if (walked.kind !== 'finished') return { verdict: walked, observed: tell(observed), seconds, mended };
    observed = await hands.look(rest(walked.progress).progress);
    verdict = rest(withFacts(walked.progress, observed));
  }
  if (!observed.unseen) await settleAgreed(services, machine, observed.drift, { mended: mends, signal: hands.signal });
  const more = mends && reasonsToMend(observed.drift, wishes).length > 0;
  const rests = observed.restsBy !== undefined && hands.rest(observed.restsBy);
  const usual = rests ? restSeconds : observeSeconds;
  const seconds = more ? onceMoreSeconds : observed.notJoined === undefined ? usual : awaitedFor(machine, services);
  return { verdict, observed: tell(observed), seconds, mended };
}

/** When a node that is no member at the moment is looked at again. */
function awaitedFor({ status }: Machine, { clock }: Pick<Services, 'clock'>): number {
  const missed = findFalse(status?.conditions, 'Joined');
  const seconds = missed ? (clock.now().getTime() - Date.parse(missed.lastTransitionTime)) / 1000 : 0;
  return Math.min(observeSeconds, Math.max(awaitedSeconds, seconds / 10));
}
