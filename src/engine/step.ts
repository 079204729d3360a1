/** The results of a step: ids, names and addresses. Saved in the Machine's status, so it never contains a secret. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/**
 * The result of a step. `back`: the effect of an earlier step is gone; continue from that step after `seconds`. `done`:
 * its effect is there. `wait`: not yet; run the step again after `seconds`. `fail`: a user has to change something;
 * `message` is a sentence that says what. A thrown error means a retry.
 */
export type StepOutcome =
  | { readonly kind: 'done'; readonly facts?: Facts }
  | {
      readonly kind: 'wait';
      readonly seconds: number;
      readonly message: string;
      readonly facts?: Facts;
      /** UpperCamelCase, stable; set where users may want to act on it. */
      readonly reason?: string;
    }
  | {
      readonly kind: 'back';
      readonly to: string;
      readonly seconds: number;
      readonly message: string;
      readonly facts?: Facts;
    }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

export const done = (facts?: Facts): StepOutcome => (facts ? { kind: 'done', facts } : { kind: 'done' });

export const wait = (seconds: number, message: string, facts?: Facts): StepOutcome =>
  facts ? { kind: 'wait', seconds, message, facts } : { kind: 'wait', seconds, message };

/** The step continues by itself, and sooner when a user acts on the reason. */
export const waitWithReason = (reason: string, seconds: number, message: string): StepOutcome => ({
  ...{ kind: 'wait', reason, seconds, message },
});

export const returnToStep = (to: string, seconds: number, message: string, facts: Facts = {}): StepOutcome => ({
  ...{ kind: 'back', to, seconds, message, facts },
});

export const fail = (reason: string, message: string): StepOutcome => ({ kind: 'fail', reason, message });

/**
 * One effect, named by the state it reaches. It checks before it acts, may run any number of times, and never sleeps.
 */
export interface Step<Context> {
  /** kebab-case; stored in status and therefore part of the API. */
  readonly name: string;
  /** Earlier names of this step, so that a rename keeps the position. */
  readonly formerNames?: readonly string[];
  /** It can destroy data: it never runs again once the machine has joined a cluster. */
  readonly erases?: boolean;
  /** After this many minutes in the step the Machine is reported as overdue. The step is still retried. */
  readonly deadlineMinutes?: number;
  /**
   * Whether it only reads, as far as the facts tell: it needs no record before it runs, since a crash may repeat the steps
   * before it as well. Default: never.
   */
  readsOnly?(facts: Facts): boolean;
  /**
   * Whether there is something to do, as far as the facts tell: a step that is not needed is passed over without a record
   * of its own. Default: always.
   */
  isNeeded?(facts: Facts): boolean;
  run(context: Context): Promise<StepOutcome>;
}
