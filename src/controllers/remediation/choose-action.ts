import type { Machine, RemediationAction } from '../../api/machine.ts';
import type { RemediationSpec } from '../../api/schema/remediation-schema.ts';
import { isFutureTime } from '../../lib/recorded-time.ts';
import { formatTime } from '../../lib/text.ts';
import type { Remediation } from './remediation-record.ts';
import type { UnhealthyMachine } from './unhealthy-machines.ts';

/** Within this time after a restart another failure of the node counts as its effect. */
const sameFailureMinutes = 60;
/** How long a node may take after a restart was requested; the slowest servers need ten minutes to boot. */
export const recoveryMinutes = 12;
/** After as many restarts within a day they are no remedy. */
const maxRestartsPerDay = 3;
/** After as many replacements of a pool within a day the next one would fail, too. */
const maxReplacementsPerDay = 3;
/** The pause after the first replacement of a day; each further one doubles it. */
const replacementPauseMinutes = 15;

/** What to do for one unhealthy Machine. */
export type ActionChoice =
  | { readonly kind: 'act'; readonly action: RemediationAction; readonly attempt: number }
  | { readonly kind: 'wait'; readonly until: Date; readonly message: string }
  | { readonly kind: 'stop'; readonly message: string };

export interface ActionInput {
  readonly policy: RemediationSpec;
  /** How often its platform restarts a machine before it is replaced. */
  readonly restartAttempts: number;
  readonly records: readonly Remediation[];
  /** What a user asks for with an annotation: it needs no waiting time, strategy or limit. */
  readonly requested?: RemediationAction | undefined;
  readonly now: Date;
}

/** The next rung of the ladder: restart, further restarts if the platform has more forceful ones, replacement. */
export function chooseAction(unhealthy: UnhealthyMachine, input: ActionInput): ActionChoice {
  const { policy, requested, now } = input;
  const { since } = unhealthy;
  const restarts = countRecentRestarts(unhealthy, input);
  if (requested) return { kind: 'act', action: requested, attempt: restarts + 1 };
  const due = addMinutes(since, policy.unhealthyMinutes);
  const choice = chooseRung(unhealthy, restarts, input);
  if (due <= now) return choice;
  return {
    kind: 'wait',
    until: due,
    message: `It has not been ready since ${formatTime(since)}.${describeDue(choice, due)}`,
  };
}

/** A node that is not ready for a moment needs no user yet. */
function describeDue(choice: ActionChoice, due: Date): string {
  if (choice.kind === 'stop') return '';
  if (choice.kind === 'wait') return ` ${choice.message}`;
  const what = choice.action === 'Restart' ? 'restarted' : 'replaced';
  return ` It is ${what} at ${formatTime(due)} unless it is ready by then.`;
}

function chooseRung(unhealthy: UnhealthyMachine, restarts: number, input: ActionInput): ActionChoice {
  const { machine, reason } = unhealthy;
  const { policy } = input;
  const isRestartUseful =
    reason !== 'MachineLost' &&
    restarts < input.restartAttempts &&
    countOf(input.records, machine, 'Restart') < maxRestartsPerDay;
  if (isRestartUseful) return { kind: 'act', action: 'Restart', attempt: restarts + 1 };
  return policy.strategy === 'Replace'
    ? chooseReplacement(machine, input)
    : { kind: 'stop', message: describeEnd(input) };
}

function describeEnd({ restartAttempts }: ActionInput): string {
  const tried = restartAttempts === 0 ? 'Its platform cannot restart it.' : 'Restarts did not help.';
  return `${tried} Look at its console. Delete the Machine to replace it, with the data on its disks; spec.remediation.strategy Replace does that without being asked.`;
}

/** Storms are slowed down, and end: what makes every new machine fail is no fault of the machine. */
function chooseReplacement({ spec: { pool } }: Machine, { records, now }: ActionInput): ActionChoice {
  const earlier = records.filter((one) => one.action === 'Replace' && one.pool === pool);
  const last = earlier.at(-1);
  if (!last) return { kind: 'act', action: 'Replace', attempt: 1 };
  if (earlier.length >= maxReplacementsPerDay) {
    const message = `${earlier.length} machines of the pool ${pool} were replaced within a day, and no more are. Find out why they fail. The annotation remediate: replace on the Machine replaces it all the same.`;
    return { kind: 'stop', message };
  }
  const until = addMinutes(new Date(last.at), replacementPauseMinutes * 2 ** (earlier.length - 1));
  if (until <= now || isFutureTime(last.at, now)) return { kind: 'act', action: 'Replace', attempt: 1 };
  return {
    kind: 'wait',
    until,
    message: `${last.machine} of the pool ${pool} was replaced at ${formatTime(new Date(last.at))}. This one is replaced at ${formatTime(until)} at the earliest.`,
  };
}

const countOf = (records: readonly Remediation[], { metadata }: Machine, action: RemediationAction): number =>
  records.filter((one) => one.machine === metadata.name && one.action === action).length;

/** Those of this failure. The machine was off for a moment in a restart, and the failure counts from then on. */
function countRecentRestarts({ machine, since }: UnhealthyMachine, { records, now }: ActionInput): number {
  const [begin, lately] = [addMinutes(since, -recoveryMinutes), addMinutes(now, -sameFailureMinutes)];
  const recent = records.filter(({ at }) => new Date(at) > (begin < lately ? begin : lately));
  return countOf(recent, machine, 'Restart');
}

export const addMinutes = (time: Date, minutes: number): Date => new Date(time.getTime() + minutes * 60_000);
