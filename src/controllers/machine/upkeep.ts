import type { Machine } from '../../api/machine.ts';
import type { Progress, Verdict } from '../../engine/advance.ts';
import type { Services } from '../services.ts';
import { explain, reasonsToMend, settleAgreed, wishesOf } from './mend.ts';
import type { Observed } from './observe.ts';

/** How often a machine that runs is looked at: with an answer that is shared for a while, less than a minute in all. */
const observeSeconds = 45;
/** How often one is whose every change is told, in case that something was not. */
const restSeconds = 3600;
/** After something was put right and is amiss all the same, or something else is. */
const onceMoreSeconds = 15;

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
}

/** A machine that is being put right was made: what is amiss with it is found out by looking, each time. */
export const isMade = (progress: Progress | undefined): progress is Progress =>
  progress?.plan === 'mend' || (progress?.plan === 'provision' && progress.finishedAt !== undefined);

/** The record of a machine that was made, and is not being put right at the moment. */
export const asMade = (progress: Progress, now: Date): Progress => ({
  ...progress,
  ...{ plan: 'provision', step: '', failures: 0, finishedAt: progress.finishedAt ?? now.toISOString() },
});

/** Looks at a machine that was made, puts right what may be, and looks again. */
export async function keepUp(services: Services, machine: Machine, progress: Progress, hands: Hands): Promise<Kept> {
  const wishes = wishesOf(machine);
  const rest = (record: Progress): Verdict => ({ kind: 'finished', progress: asMade(record, services.clock.now()) });
  const tell = (seen: Observed): Observed => ({ ...seen, drift: explain(seen.drift, wishes) });
  let observed = await hands.look(progress);
  let verdict = rest(progress);
  const due = reasonsToMend(observed.drift, wishes);
  const mends = hands.mend !== undefined && due.length > 0;
  if (hands.mend && mends) {
    const walked = await hands.mend(due);
    const seconds = 'seconds' in walked ? Math.min(walked.seconds, observeSeconds) : onceMoreSeconds;
    if (walked.kind !== 'finished') return { verdict: walked, observed: tell(observed), seconds };
    verdict = rest(walked.progress);
    observed = await hands.look(verdict.progress);
  }
  if (!observed.unseen) await settleAgreed(services, machine, observed.drift, { mended: mends, signal: hands.signal });
  const more = mends && reasonsToMend(observed.drift, wishes).length > 0;
  const rests = observed.restsBy !== undefined && hands.rest(observed.restsBy);
  const seconds = more ? onceMoreSeconds : rests ? restSeconds : observeSeconds;
  return { verdict, observed: tell(observed), seconds };
}
