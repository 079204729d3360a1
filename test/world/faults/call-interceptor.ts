/** A fault of one call. Each simulator applies it at the level of its own protocol. */
export type Fault =
  /** The connection ends before the work is done. */
  | { readonly kind: 'drop' }
  /** The work is done, then the connection ends without an answer. `meanwhile` is called between the two. */
  | { readonly kind: 'lose-reply'; readonly meanwhile?: () => void }
  /** Silence for this many real milliseconds, then the connection ends. The work is done if `done` is set. */
  | { readonly kind: 'silence'; readonly milliseconds: number; readonly done?: boolean }
  /** The answer is this many real milliseconds late. */
  | { readonly kind: 'late'; readonly milliseconds: number }
  /**
   * This many bytes of the request or of the answer pass. Then follows silence for this many real milliseconds (default
   * none), then the connection ends. Without a stream: as `drop`, or as `lose-reply`.
   */
  | { readonly kind: 'cut'; readonly of: 'request' | 'answer'; readonly bytes: number; readonly milliseconds?: number }
  /** An error instead of the work; `status` and `body` in the protocol's own terms. */
  | {
      readonly kind: 'error';
      readonly status?: number;
      readonly code?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface InterceptedCall {
  readonly simulator: string;
  /** e.g. `vm.create`, `POST /api/v1/namespaces`, `machine.MachineService/Bootstrap`. */
  readonly name: string;
  readonly at: Date;
  readonly detail?: unknown;
  /** Address of the caller. Each process that a test must distinguish has its own. */
  readonly from?: string | undefined;
}

/** Decides the fault of a call; undefined: none. `content` is the payload of the call, if the simulator knows it. */
export type FaultRule = (call: InterceptedCall, content?: unknown) => Fault | undefined;

interface PlannedFault {
  readonly simulator: string;
  readonly match: RegExp;
  readonly fault: Fault;
  left: number;
  skip: number;
}

/**
 * Every call to a simulator passes here: it is recorded, and it may get a planned fault.
 *
 *     switchboard.fail('truenas', /^vm\.create$/, { kind: 'lose-reply' });
 */
export class CallInterceptor {
  /** In order: all calls, or the last ones of a long-running process. */
  readonly calls: InterceptedCall[] = [];
  readonly #kept: number;
  #plans: PlannedFault[] = [];
  #listeners = new Set<(call: InterceptedCall) => void>();
  #judges = new Set<FaultRule>();

  /** `kept`: the minimum number of calls that are recorded; default all. */
  constructor({ kept = Number.POSITIVE_INFINITY }: { readonly kept?: number } = {}) {
    this.#kept = kept;
  }

  /** The next `times` calls of `simulator` whose name matches get `fault`, after `skip` others went through. */
  fail(simulator: string, match: RegExp, fault: Fault, times = 1, skip = 0): void {
    this.#plans.push({ simulator, match, fault, left: times, skip });
  }

  /** Asks `judge` about every call from now on, before any plan. Returns a function that stops this. */
  judge(evaluate: FaultRule): () => void {
    this.#judges.add(evaluate);
    return () => this.#judges.delete(evaluate);
  }

  clear(): void {
    this.#plans = [];
  }

  /** Called with each call before its work is done. */
  onCall(listener: (call: InterceptedCall) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Records a call of a simulator and returns its fault. `content` is passed to judges and not recorded. */
  pass(simulator: string, name: string, detail?: unknown, content?: unknown, from?: string): Fault | undefined {
    const call: InterceptedCall = { simulator, name, at: new Date(), detail, from };
    this.#remember(call);
    for (const listener of this.#listeners) listener(call);
    for (const evaluate of this.#judges) {
      const fault = evaluate(call, content);
      if (fault) return fault;
    }
    for (const plan of this.#plans) {
      if (plan.left <= 0 || plan.simulator !== simulator || !plan.match.test(name)) continue;
      if (plan.skip > 0) {
        plan.skip -= 1;
        continue;
      }
      plan.left -= 1;
      return plan.fault;
    }
    return undefined;
  }

  /** The record grows to one and a half times the limit, so that not every call moves all entries. */
  #remember(call: InterceptedCall): void {
    this.calls.push(call);
    if (this.calls.length > this.#kept * 1.5) this.calls.splice(0, this.calls.length - this.#kept);
  }
}

/** Number of recorded calls in a long-running process. */
export const retainedCallCount = 10_000;
