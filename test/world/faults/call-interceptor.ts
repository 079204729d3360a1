/** What can be done to one call. Each room applies it at the level of its own protocol. */
export type Fault =
  /** The connection ends before the work is done. */
  | { readonly kind: 'drop' }
  /** The work is done, then the connection ends without an answer. `meanwhile` is called between the two. */
  | { readonly kind: 'lose-reply'; readonly meanwhile?: () => void }
  /** Nothing is heard for so many real milliseconds, then the connection ends. The work is done if `done` says so. */
  | { readonly kind: 'silence'; readonly milliseconds: number; readonly done?: boolean }
  /** The answer comes so many real milliseconds late. */
  | { readonly kind: 'late'; readonly milliseconds: number }
  /**
   * So many bytes of what the caller sends, or of the answer, come through; then nothing is heard for so many real milliseconds
   * (default none), then the connection ends. Where nothing is streamed: as `drop`, or as `lose-reply`.
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
  readonly room: string;
  /** e.g. `vm.create`, `POST /api/v1/namespaces`, `machine.MachineService/Bootstrap`. */
  readonly name: string;
  readonly at: Date;
  readonly detail?: unknown;
  /** Address of the caller. Processes that are to be told apart have one each. */
  readonly from?: string | undefined;
}

/** Decides what to do to a call; undefined: nothing. `content` is what the call carries, where the room can tell. */
export type FaultRule = (call: InterceptedCall, content?: unknown) => Fault | undefined;

interface PlannedFault {
  readonly room: string;
  readonly match: RegExp;
  readonly fault: Fault;
  left: number;
  skip: number;
}

/**
 * Every call into the world passes here: it is written down, and a fault that was asked for is handed out.
 *
 *     switchboard.fail('truenas', /^vm\.create$/, { kind: 'lose-reply' });
 */
export class CallInterceptor {
  /** In order; all of them, or the last ones of a world that is there to stay. */
  readonly calls: InterceptedCall[] = [];
  readonly #kept: number;
  #plans: PlannedFault[] = [];
  #listeners = new Set<(call: InterceptedCall) => void>();
  #judges = new Set<FaultRule>();

  /** `kept`: how many calls are remembered at least; default all. */
  constructor({ kept = Number.POSITIVE_INFINITY }: { readonly kept?: number } = {}) {
    this.#kept = kept;
  }

  /** The next `times` calls of `room` whose name matches get `fault`, after `skip` others went through. */
  fail(room: string, match: RegExp, fault: Fault, times = 1, skip = 0): void {
    this.#plans.push({ room, match, fault, left: times, skip });
  }

  /** Asks `judge` about every call from now on, before any plan. Returns how to stop. */
  judge(judge: FaultRule): () => void {
    this.#judges.add(judge);
    return () => this.#judges.delete(judge);
  }

  clear(): void {
    this.#plans = [];
  }

  /** Called with each call before its work is done. */
  onCall(listener: (call: InterceptedCall) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A room announces a call and learns what to do to it. `content` is shown to judges and not kept. */
  pass(room: string, name: string, detail?: unknown, content?: unknown, from?: string): Fault | undefined {
    const call: InterceptedCall = { room, name, at: new Date(), detail, from };
    this.#remember(call);
    for (const listener of this.#listeners) listener(call);
    for (const judge of this.#judges) {
      const fault = judge(call, content);
      if (fault) return fault;
    }
    for (const plan of this.#plans) {
      if (plan.left <= 0 || plan.room !== room || !plan.match.test(name)) continue;
      if (plan.skip > 0) {
        plan.skip -= 1;
        continue;
      }
      plan.left -= 1;
      return plan.fault;
    }
    return undefined;
  }

  /** Half as many again may gather, so that not every call moves all of them. */
  #remember(call: InterceptedCall): void {
    this.calls.push(call);
    if (this.calls.length > this.#kept * 1.5) this.calls.splice(0, this.calls.length - this.#kept);
  }
}

/** For a world that runs for as long as somebody looks at it. */
export const retainedCallCount = 10_000;
