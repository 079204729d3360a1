import { correctTime } from '../../lib/recorded-time.ts';
import type { PublicationProblem } from './decide-form.ts';
import type { PublicationRecord } from './publication-record.ts';

/** After everything is gone: consumers end their watches before the cluster does not answer any more. */
export const graceSeconds = 30;
/** The deletion of a Cluster waits no longer than this for consumers. */
export const withdrawalSeconds = 600;

/** Since when objects are withdrawn, and when all of them were gone. */
type Withdrawal = NonNullable<PublicationRecord['withdrawal']>;

export interface WithdrawalSituation {
  readonly withdrawal: Withdrawal;
  /** What is still there; undefined when nothing is left. */
  readonly left: PublicationProblem | undefined;
  /** Consumers may know the Cluster. */
  readonly wasPublished: boolean;
  readonly now: Date;
}

export type WithdrawalDecision =
  /** Consumers have let go: the deletion of the Cluster goes on. */
  | { readonly kind: 'done' }
  /** They have not, and the deletion goes on all the same. */
  | { readonly kind: 'give-up'; readonly problem: PublicationProblem }
  | { readonly kind: 'wait'; readonly seconds: number; readonly problem: PublicationProblem };

const pollSeconds = 2;

/** Begins the withdrawal, or continues the recorded one. `left` is what is still there. */
export function continueWithdrawal(
  known: Withdrawal | undefined,
  left: PublicationProblem | undefined,
  now: Date,
): Withdrawal {
  const since = correctTime(known?.since ?? now, now);
  return left ? { since } : { since, gone: correctTime(known?.gone ?? now, now) };
}

/** What the deletion of a Cluster does about what was published of it. */
export function decideWithdrawal({ withdrawal, left, wasPublished, now }: WithdrawalSituation): WithdrawalDecision {
  const end = withdrawal.since.getTime() + withdrawalSeconds * 1000;
  if (left) {
    if (now.getTime() >= end) return { kind: 'give-up', problem: left };
    const until = `The deletion of the Cluster waits for it until ${formatMinute(end)} at most.`;
    return { kind: 'wait', seconds: pollSeconds, problem: { ...left, message: `${left.message} ${until}` } };
  }
  if (!wasPublished) return { kind: 'done' };
  if (!withdrawal.gone) return { kind: 'wait', seconds: pollSeconds, problem: graceProblem };
  const seconds = (withdrawal.gone.getTime() - now.getTime()) / 1000 + graceSeconds;
  return seconds <= 0 ? { kind: 'done' } : { kind: 'wait', seconds: Math.ceil(seconds), problem: graceProblem };
}

const graceProblem: PublicationProblem = {
  reason: 'Withdrawing',
  message: `Everything that was published is deleted. Consumers get ${graceSeconds} seconds to let go.`,
};

const formatMinute = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;
