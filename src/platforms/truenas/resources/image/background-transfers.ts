import type { Closable, PlatformContext } from '../../../../engine/platform.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { createLinkedController } from '../../../../lib/deadline.ts';
import type { TrueNasClient } from '../../api/client.ts';

/** What a transfer tells about itself. */
export interface TransferProgress {
  /** How much was sent, from 0 to 100; undefined while nothing is known. */
  percent?: number;
  /** How much of it the other side has written, once all was sent. */
  written?: number;
  /** How much was read back, where that is the work. */
  read?: number;
  /** It is being removed, since nobody needed it. */
  removing?: true;
}

type TransferState =
  | { readonly kind: 'running'; readonly progress: TransferProgress }
  /** Until then everybody who waits for it is told; after that it may be tried again. */
  | { readonly kind: 'failed'; readonly error: unknown; readonly until: number };

const failureReportSeconds = 5;

/**
 * Long work that several machines wait for, such as copying an image: done once, beside the steps, which only ask how far
 * it is. It ends with the process, or earlier with the signal that it is given.
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

  /** How far the transfer is; undefined when there is none. Throws the error of one that just failed. */
  progress(key: string): TransferProgress | undefined {
    const state = this.#states.get(key);
    if (state?.kind !== 'failed') return state?.progress;
    if (this.#clock.monotonic() < state.until) throw state.error;
    this.#states.delete(key);
    return undefined;
  }

  /** Starts the transfer unless it runs already. */
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

  /** Those that nobody asks for any more. */
  #forgetFailed(): void {
    const now = this.#clock.monotonic();
    for (const [key, state] of this.#states) {
      if (state.kind === 'failed' && now >= state.until) this.#states.delete(key);
    }
  }

  /** Does short work on what a transfer may be asked for, which waits meanwhile. Undefined: one runs, so it was not done. */
  async instead<T>(key: string, progress: TransferProgress, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#states.get(key)?.kind === 'running' || this.#over.signal.aborted) return undefined;
    this.#states.set(key, { kind: 'running', progress });
    try {
      return await work();
    } finally {
      this.#states.delete(key);
    }
  }

  /** Ends what runs and waits until it has ended. */
  async close(): Promise<void> {
    this.#over.abort(new Error('shutting down'));
    await Promise.all(this.#running);
  }
}

/** Those of one system. */
export const backgroundTransfersOf = (
  context: Pick<PlatformContext, 'connections' | 'clock'>,
  nas: TrueNasClient,
): BackgroundTransfers =>
  context.connections.get(
    `truenas-transfers:${nas.options.endpoint.socketUrl}`,
    () => new BackgroundTransfers(context.clock, context.connections.signal),
  );
