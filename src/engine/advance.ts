import type { Clock } from '../lib/clock.ts';
import { ProviderError, retryPolicyOf } from '../lib/errors.ts';
import type { StepRunResult } from '../lib/observers.ts';
import { isFutureTime } from '../lib/recorded-time.ts';
import { backoffSeconds } from '../lib/resilience/backoff.ts';
import type { Facts, Step, StepOutcome } from './step.ts';

export type StepPlanName = 'provision' | 'update' | 'release' | 'repair';

/** The position in a list of steps. This record, saved in the status, is the whole state machine. */
export interface Progress<P extends string = StepPlanName> {
  readonly plan: P;
  /** The step that runs next or is running; empty when the last one is done. */
  readonly step: string;
  /** RFC 3339; when the step became current. Deadlines count from here. */
  readonly since: string;
  /** Errors thrown in this step so far. */
  readonly failures: number;
  /** RFC 3339; set when the last step is done. */
  readonly finishedAt?: string;
  readonly facts: Facts;
}

/** The result of one run of the steps. `seconds` is the delay until the next run. */
export type AdvanceResult<P extends string = StepPlanName> =
  | { readonly kind: 'finished'; readonly progress: Progress<P> }
  | {
      readonly kind: 'waiting';
      readonly progress: Progress<P>;
      readonly seconds: number;
      readonly message: string;
      readonly overdue: boolean;
      /** The step's own reason, if it gave one. */
      readonly reason?: string;
    }
  | {
      readonly kind: 'failed';
      readonly progress: Progress<P>;
      readonly seconds: number;
      readonly reason: string;
      readonly message: string;
    }
  | {
      readonly kind: 'error';
      readonly progress: Progress<P>;
      readonly seconds: number;
      readonly error: unknown;
      readonly overdue: boolean;
    };

export interface AdvanceOptions<Context, P extends string = StepPlanName> {
  readonly plan: P;
  readonly steps: readonly Step<Context>[];
  /** The last saved record; undefined for a machine without one. */
  readonly progress: Progress<P> | undefined;
  /** Creates the context of one step from the facts known so far. */
  context(facts: Facts, step: Step<Context>): Context;
  /** Saves the record durably, or throws. */
  save(progress: Progress<P>): Promise<void>;
  /**
   * Whether an error from a step concerns the storage of the record and not the step: it is rethrown like errors of
   * `save`, and not counted. Default: never.
   */
  concernsRecord?(error: unknown): boolean;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Called with the result of each step. It must not throw. */
  readonly observer?: (step: string, end: StepRunResult, seconds: number) => void;
  /** When it aborts, the run throws the signal's reason; nothing is counted as a failure. */
  readonly signal?: AbortSignal;
}

/** A step that needs a change by a user is retried after this time even if nothing changed. */
const failedRequeueSeconds = 600;
/** The delay is computed from a saved count, so a restart does not reset it. */
const stepBackoff = { baseSeconds: 2, capSeconds: 300 };

/**
 * Runs the steps from the current position until one waits, fails or throws, or the last is done.
 *
 * The record is saved before a step runs and again, with its facts, after it: a crash anywhere costs one repeated step, and
 * the steps that only read.
 * If the name of the current step no longer exists, the run restarts at the first step, and each step finds its effect
 * already present.
 */
export async function advance<Context, P extends string = StepPlanName>(
  walk: AdvanceOptions<Context, P>,
): Promise<AdvanceResult<P>> {
  let progress = resumeProgress(walk);
  if (progress.finishedAt) return { kind: 'finished', progress };
  let isSaved = isSameRecord(progress, walk.progress);
  for (;;) {
    const index = walk.steps.findIndex((step) => step.name === progress.step);
    const step = walk.steps[index];
    if (!step) return await finishPlan(walk, progress);
    isSaved = await saveBefore(walk, step, progress, isSaved);
    if (step.erases && progress.facts['joined'] === true) return rejectErasingStep(progress, step);
    const outcome = await runStep(walk, step, progress);
    if ('verdict' in outcome) return await saveVerdict(walk, outcome.verdict, isSaved);
    const facts = { ...progress.facts, ...outcome.facts };
    const next = walk.steps.slice(index + 1).find((one) => one.isNeeded?.(facts) ?? true);
    if (!next) return await finishPlan(walk, { ...progress, facts });
    progress = { plan: walk.plan, step: next.name, since: walk.clock.now().toISOString(), failures: 0, facts };
    isSaved = false;
  }
}

/** Returns whether the record is saved. */
async function saveBefore<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  step: Step<Context>,
  progress: Progress<P>,
  isSaved: boolean,
): Promise<boolean> {
  if (isSaved || step.readsOnly?.(progress.facts)) return isSaved;
  await walk.save(progress);
  return true;
}

async function saveVerdict<P extends string>(
  walk: Pick<AdvanceOptions<never, P>, 'save'>,
  verdict: AdvanceResult<P>,
  isSaved: boolean,
): Promise<AdvanceResult<P>> {
  if (!isSaved) await walk.save(verdict.progress);
  return verdict;
}

async function runStep<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  step: Step<Context>,
  progress: Progress<P>,
): Promise<{ verdict: AdvanceResult<P> } | { facts: Facts }> {
  walk.signal?.throwIfAborted();
  let outcome: StepOutcome;
  const start = walk.clock.monotonic();
  const report = (end: StepRunResult): void => walk.observer?.(step.name, end, (walk.clock.monotonic() - start) / 1000);
  try {
    outcome = await step.run(walk.context(progress.facts, step));
    report(outcome.kind);
  } catch (error) {
    walk.signal?.throwIfAborted();
    if (walk.concernsRecord?.(error)) throw error;
    report('error');
    return { verdict: await countFailure(walk, step, progress, error) };
  }
  if (outcome.kind === 'done') return { facts: outcome.facts ?? {} };
  if (outcome.kind === 'fail') {
    return {
      verdict: {
        kind: 'failed',
        progress,
        seconds: failedRequeueSeconds,
        reason: outcome.reason,
        message: outcome.message,
      },
    };
  }
  if (outcome.kind === 'back') return { verdict: await moveBack(walk, progress, outcome) };
  const learned: Progress<P> = { ...progress, failures: 0, facts: { ...progress.facts, ...outcome.facts } };
  if (progress.failures > 0 || !areSameFacts(learned.facts, progress.facts)) await walk.save(learned);
  const { seconds, message, reason } = outcome;
  const details = { overdue: isOverdue(walk, step, progress), ...(reason === undefined ? {} : { reason }) };
  return { verdict: { kind: 'waiting', progress: learned, seconds, message, ...details } };
}

/** The effect of an earlier step is gone: the run continues from that step, and each step checks before it acts. */
async function moveBack<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  progress: Progress<P>,
  { to, seconds, message, facts }: Extract<StepOutcome, { kind: 'back' }>,
): Promise<AdvanceResult<P>> {
  const names = walk.steps.map(({ name }) => name);
  const target = names.indexOf(to);
  if (target < 0 || target > names.indexOf(progress.step))
    throw new RangeError(`${to} is no step before ${progress.step}`);
  const since = walk.clock.now().toISOString();
  const earlier: Progress<P> = { ...progress, step: to, since, failures: 0, facts: { ...progress.facts, ...facts } };
  await walk.save(earlier);
  return { kind: 'waiting', progress: earlier, seconds, message, overdue: false };
}

async function countFailure<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  step: Step<Context>,
  progress: Progress<P>,
  error: unknown,
): Promise<AdvanceResult<P>> {
  if (error instanceof ProviderError && retryPolicyOf(error) === 'after-change') {
    return { kind: 'failed', progress, seconds: failedRequeueSeconds, reason: error.code, message: error.message };
  }
  const counted: Progress<P> = { ...progress, failures: progress.failures + 1 };
  await walk.save(counted);
  const desired = error instanceof ProviderError ? (error.retryAfterSeconds ?? 0) : 0;
  const seconds = Math.max(desired, backoffSeconds(counted.failures, { ...stepBackoff, random: walk.random }));
  return { kind: 'error', progress: counted, seconds, error, overdue: isOverdue(walk, step, progress) };
}

/**
 * The record to resume from: the saved one, or the first step of the list if the saved one does not match. Facts are
 * kept.
 */
function resumeProgress<Context, P extends string>(walk: AdvanceOptions<Context, P>): Progress<P> {
  const { plan, progress: saved } = walk;
  if (saved?.plan === plan && saved.finishedAt) return saved;
  return correctTimes(findPosition(walk), walk.clock.now());
}

function findPosition<Context, P extends string>(walk: AdvanceOptions<Context, P>): Progress<P> {
  const saved = walk.progress;
  const top = (): Progress<P> => ({
    plan: walk.plan,
    step: walk.steps[0]?.name ?? '',
    since: walk.clock.now().toISOString(),
    failures: 0,
    facts: saved?.facts ?? {},
  });
  if (!saved || saved.plan !== walk.plan) return top();
  const step =
    walk.steps.find((s) => s.name === saved.step) ?? walk.steps.find((s) => s.formerNames?.includes(saved.step));
  return step ? { ...saved, step: step.name } : top();
}

/** A time of which the clock says that it is to come is taken for the present: steps count their waits from it. */
function correctTimes<P extends string>(progress: Progress<P>, now: Date): Progress<P> {
  const facts = Object.fromEntries(
    Object.entries(progress.facts).map(([name, fact]) => [name, isFutureFact(fact, now) ? now.toISOString() : fact]),
  );
  return { ...progress, since: isFutureTime(progress.since, now) ? now.toISOString() : progress.since, facts };
}

/** Steps record times as `toISOString` writes them. */
const isFutureFact = (fact: Facts[string], now: Date): boolean =>
  typeof fact === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(fact) && isFutureTime(fact, now);

async function finishPlan<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  progress: Progress<P>,
): Promise<AdvanceResult<P>> {
  const finished: Progress<P> = { ...progress, step: '', failures: 0, finishedAt: walk.clock.now().toISOString() };
  await walk.save(finished);
  return { kind: 'finished', progress: finished };
}

const rejectErasingStep = <P extends string>(progress: Progress<P>, step: { name: string }): AdvanceResult<P> => ({
  kind: 'failed',
  progress,
  seconds: failedRequeueSeconds,
  reason: 'EraseRejected',
  message: `The step ${step.name} erases data, and this machine has joined a cluster. Delete the Machine to recreate it.`,
});

function isOverdue<Context, P extends string>(
  walk: AdvanceOptions<Context, P>,
  step: Step<Context>,
  progress: Progress<P>,
): boolean {
  if (step.deadlineMinutes === undefined) return false;
  return walk.clock.now().getTime() - Date.parse(progress.since) > step.deadlineMinutes * 60_000;
}

const isSameRecord = (a: Progress<string>, b: Progress<string> | undefined): boolean =>
  a.plan === b?.plan && a.step === b.step && a.since === b.since && areSameFacts(a.facts, b.facts);

const areSameFacts = (a: Facts, b: Facts): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};
