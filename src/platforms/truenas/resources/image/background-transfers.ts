import type { Closable } from '../../../../engine/connection.ts';
import type { PlatformContext } from '../../../../engine/contexts.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { createLinkedController } from '../../../../lib/deadline.ts';
import type { TrueNasClient } from '../../api/client.ts';

/** Progress of a transfer. */
export interface TransferProgress {
  /** Percentage sent; undefined while unknown. */
  percent?: number;
  /** Percentage written by the system, once all was sent. */
  written?: number;
  /** Percentage read back, for a check of the hash. */
  read?: number;
  /** The image is being removed because it was unused. */
  removing?: true;
}

type TransferState =
  | { readonly kind: 'running'; readonly progress: TransferProgress }
  /** Until this time every caller gets the error; afterwards the transfer may be retried. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly until: number };

const failureReportSeconds = 5;

/**
 * Long work that several machines wait for, such as copying an image. It runs once, in the background, and steps only
 * ask for its progress. It ends with the process, or earlier with its signal.
 */
export class BackgroundTransfers implements Closable {
  readonly #states = new Map<string, TransferState>();
  readonly #running = new Set<Promise<void>>();
  readonly #over: AbortController;
  readonly #clock: Clock;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#over = createLinkedController(signal);
  }

  /** Progress of the transfer; undefined when there is none. Throws the error of a transfer that has just failed. */
  progress(key: string): TransferProgress | undefined {
    const state = this.#states.get(key);
    if (state?.kind !== 'failed') return state?.progress;
    if (this.#clock.monotonic() < state.until) throw state.error;
    this.#states.delete(key);
    return undefined;
  }

  /** Starts the transfer unless it is running. */
  start(key: string, work: (signal: AbortSignal, progress: TransferProgress) => Promise<void>): void {
    if (this.#states.get(key)?.kind === 'running' || this.#over.signal.aborted) return;
    this.#forgetFailed();
    const progress: TransferProgress = {};
    this.#states.set(key, { kind: 'running', progress });
    const run = work(this.#over.signal, progress)
      .then(
        () => {
          this.#states.delete(key);
        },
        (error: unknown) => {
          this.#states.set(key, {
            kind: 'failed',
            error,
            until: this.#clock.monotonic() + failureReportSeconds * 1000,
          });
        },
      )
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Removes failures that no caller asks for any more. */
  #forgetFailed(): void {
    const now = this.#clock.monotonic();
    for (const [key, state] of this.#states) {
      if (state.kind === 'failed' && now >= state.until) this.#states.delete(key);
    }
  }

  /**
   * Runs short work in place of a transfer, which cannot start meanwhile. Undefined: a transfer is running, and the
   * work was not done.
   */
  async instead<T>(key: string, progress: TransferProgress, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#states.get(key)?.kind === 'running' || this.#over.signal.aborted) return undefined;
    this.#states.set(key, { kind: 'running', progress });
    try {
      return await work();
    } finally {
      this.#states.delete(key);
    }
  }

  /** Aborts running transfers and waits for their end. */
  async close(): Promise<void> {
    this.#over.abort(new Error('shutting down'));
    await Promise.all(this.#running);
  }
}

/** The transfers of one system. */
export const backgroundTransfersOf = (
  context: Pick<PlatformContext, 'connections' | 'clock'>,
  nas: TrueNasClient,
): BackgroundTransfers =>
  context.connections.get(
    `truenas-transfers:${nas.options.endpoint.socketUrl}`,
    () => new BackgroundTransfers(context.clock, context.connections.signal),
  );
