import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { LruMap } from '../../../lib/lru-map.ts';

/** One image on one node. */
export interface ImagePull {
  /** Identifies the pull: cluster, node and image. */
  readonly key: string;
  readonly machine: string;
  readonly image: string;
  pull(signal: AbortSignal): Promise<void>;
}

export interface PullProgress {
  readonly done: number;
  readonly total: number;
  /** The first image that a node could not pull, in the words of the node. It is tried again later. */
  readonly failed?: { readonly machine: string; readonly image: string; readonly message: string };
}

type PullState =
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  /** `at`: monotonic milliseconds. `message`: of the node; undefined when it did not answer. */
  | { readonly kind: 'failed'; readonly at: number; readonly message: string | undefined };

interface WaitingPull {
  readonly pull: ImagePull;
  /** When it was requested last, in monotonic milliseconds. */
  readonly at: number;
}

/** All pulls of this process: nodes share the uplink of their site. */
const maxRunning = 6;
/** Evicted states are pulled again, which costs a call. */
const maxStates = 20_000;
const retrySeconds = { unanswered: 10, failed: 120 } as const;
/** A pull that waits for its turn is forgotten when it is not requested again, as after the end of an upgrade. */
const keepWaitingSeconds = 60;

/** Pulls images in the background. Nothing is stored: after a restart each node is asked again, and has the image. */
export class ImagePulls implements Closable {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #states = new LruMap<string, PullState>(maxStates);
  readonly #waiting = new Map<string, WaitingPull>();
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts what is missing, the rest as soon as there is room, and returns at once. */
  request(pulls: readonly ImagePull[]): PullProgress {
    const at = this.#clock.monotonic();
    for (const pull of pulls)
      if (this.#isDue(pull) && this.#waiting.size < maxStates) this.#waiting.set(pull.key, { pull, at });
    this.#startWaiting();
    const states = pulls.map((pull) => ({ ...pull, state: this.#states.get(pull.key) }));
    const failed = states.find(({ state }) => state?.kind === 'failed' && state.message !== undefined);
    const message = failed?.state?.kind === 'failed' ? failed.state.message : undefined;
    return {
      done: states.filter(({ state }) => state?.kind === 'done').length,
      total: pulls.length,
      ...(failed && message !== undefined ? { failed: { machine: failed.machine, image: failed.image, message } } : {}),
    };
  }

  close(): void {
    this.#over.abort(new Error('the process ends'));
  }

  #isDue({ key }: ImagePull): boolean {
    const state = this.#states.get(key);
    if (!state) return true;
    if (state.kind !== 'failed') return false;
    const pause = state.message === undefined ? retrySeconds.unanswered : retrySeconds.failed;
    return this.#clock.monotonic() - state.at >= pause * 1000;
  }

  #startWaiting(): void {
    const oldest = this.#clock.monotonic() - keepWaitingSeconds * 1000;
    for (const [key, { pull, at }] of this.#waiting) {
      if (this.#running >= maxRunning || this.#over.signal.aborted) return;
      this.#waiting.delete(key);
      if (at >= oldest) void this.#start(pull);
    }
  }

  async #start({ key, pull }: ImagePull): Promise<void> {
    this.#running += 1;
    this.#states.set(key, { kind: 'running' });
    try {
      await pull(this.#over.signal);
      this.#states.set(key, { kind: 'done' });
    } catch (error) {
      this.#states.set(key, { kind: 'failed', at: this.#clock.monotonic(), message: describePullError(error) });
    } finally {
      this.#running -= 1;
      this.#startWaiting();
    }
  }
}

/** A node that does not answer has said nothing about the image. */
function describePullError(error: unknown): string | undefined {
  if (!(error instanceof ProviderError)) return error instanceof Error ? error.message : String(error);
  return error.code === 'TALOS_UNREACHABLE' || error.code === 'TALOS_NOT_READY' ? undefined : error.detail;
}
