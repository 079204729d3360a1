import type { Clock } from '../clock.ts';

export interface CircuitBreakerOptions<Failure> {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Seconds after a failure until the next call. `failures`: number of failures in a row, 1 or more. */
  pauseSeconds(failure: Failure, failures: number): number;
}

/** The error of a call while the circuit is open. `seconds`: time until the next trial. */
export type OpenCircuitError<Failure> = (failure: Failure, seconds: number) => unknown;

/** How `run` treats the errors of calls. */
export interface CircuitRules<Failure> {
  /**
   * What the error of a call says about the system: `responded` when it has answered, `unknown` when the error is not
   * about it, or else the failure.
   */
  assess(error: unknown): { readonly failure: Failure } | 'responded' | 'unknown';
  readonly openError: OpenCircuitError<Failure>;
}

/**
 * Stops calls to a system that does not respond, so that callers do not wait for it one after the other and do not
 * overload it while it recovers. After a failure, the other calls fail at once until a pause has passed. Then a trial
 * call is due, and the first response closes the circuit.
 */
export class CircuitBreaker<Failure> {
  readonly #options: CircuitBreakerOptions<Failure>;
  /** The last failure, and the time of the next trial call. */
  #open: { readonly failure: Failure; readonly pauseSeconds: number; readonly until: number } | undefined;
  #failures = 0;
  #isTrialRunning = false;

  constructor(options: CircuitBreakerOptions<Failure>) {
    this.#options = options;
  }

  /** The last failure. Undefined: the circuit is closed. */
  get failure(): Failure | undefined {
    return this.#open?.failure;
  }

  /** Length of the pause after the last failure. */
  get pauseSeconds(): number {
    return this.#open?.pauseSeconds ?? 0;
  }

  /** Seconds until a call may be made; 0 when one may be made now. */
  get secondsUntilTrial(): number {
    return this.#open ? Math.max(0, (this.#open.until - this.#options.clock.monotonic()) / 1000) : 0;
  }

  /** Throws while no call may be made. */
  throwIfOpen(openError: OpenCircuitError<Failure>): void {
    const seconds = this.secondsUntilTrial;
    if (this.#open && seconds > 0) throw openError(this.#open.failure, seconds);
  }

  /** Records a failed call. Returns the seconds until the next one. */
  recordFailure(failure: Failure): number {
    this.#failures += 1;
    const { clock, pauseSeconds } = this.#options;
    const seconds = pauseSeconds(failure, this.#failures);
    this.#open = { failure, pauseSeconds: seconds, until: clock.monotonic() + seconds * 1000 };
    return seconds;
  }

  /** Records a sign of a failure that no call has confirmed: the next call is a trial, without a pause. */
  suspect(failure: Failure): void {
    this.#open = { failure, pauseSeconds: 0, until: this.#options.clock.monotonic() };
  }

  /** Records a response. */
  recordResponse(): void {
    this.#failures = 0;
    this.#open = undefined;
  }

  /** Makes the call, unless the circuit is open. Only one trial call runs at a time; the other calls fail meanwhile. */
  async run<T>(call: () => Promise<T>, { assess, openError }: CircuitRules<Failure>): Promise<T> {
    const isTrial = this.#open !== undefined;
    this.throwIfOpen(openError);
    if (this.#open && this.#isTrialRunning) throw openError(this.#open.failure, 0);
    if (isTrial) this.#isTrialRunning = true;
    try {
      const answer = await call();
      this.recordResponse();
      return answer;
    } catch (error) {
      const outcome = assess(error);
      if (outcome === 'responded') this.recordResponse();
      else if (outcome !== 'unknown') this.recordFailure(outcome.failure);
      throw error;
    } finally {
      if (isTrial) this.#isTrialRunning = false;
    }
  }
}
