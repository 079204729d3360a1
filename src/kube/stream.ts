import type { Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import type { Query } from './transport.ts';

/** A GET whose answer is read line by line. */
export interface StreamRequest {
  readonly path: string;
  readonly query?: Query;
  readonly signal: AbortSignal;
  /** The server has to begin its answer within this time. */
  readonly deadlineSeconds: number;
  /** The stream ends after so much silence. */
  readonly idleSeconds: number;
  /** The stream ends after this time in any case. */
  readonly lifeSeconds: number;
}

/** Why a stream was ended by us without anything being wrong. */
export const streamOver = new Error('the stream has lived long enough');

/** Ends a stream that never begins, falls silent or grows old, on the injected clock. */
export class StreamGuard {
  readonly #clock: Clock;
  readonly #limits: StreamRequest;
  readonly #life: AbortController;
  readonly #bornAt: number;
  #heardAt: number | undefined;

  constructor(clock: Clock, limits: StreamRequest, life: AbortController) {
    this.#clock = clock;
    this.#limits = limits;
    this.#life = life;
    this.#bornAt = clock.monotonic();
  }

  /** Something came in. */
  alive(): void {
    this.#heardAt = this.#clock.monotonic();
  }

  async watch(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      const left = this.#endsAt() - this.#clock.monotonic();
      if (left <= 0) return this.#end();
      // Rejects only because the stream is over, which the loop sees for itself.
      await this.#clock.sleep(left, signal).catch(() => {});
    }
  }

  #endsAt(): number {
    const { deadlineSeconds, idleSeconds, lifeSeconds } = this.#limits;
    if (this.#heardAt === undefined) return this.#bornAt + deadlineSeconds * 1000;
    return Math.min(this.#heardAt + idleSeconds * 1000, this.#bornAt + lifeSeconds * 1000);
  }

  #end(): void {
    const late = new DOMException('the watch was not accepted in time', 'TimeoutError');
    this.#life.abort(this.#heardAt === undefined ? late : streamOver);
  }
}

/** Longer than any object etcd can hold; whoever sends more without a line end is not an API server. */
const longestLine = 32 * 1024 * 1024;

/**
 * The lines of a body, without empty ones. `heard` is told of the beginning and of everything that comes in. Throws when the body
 * breaks or ends in the middle of a line; the body is destroyed when the loop is left.
 */
export async function* linesOf(body: Readable, heard: () => void): AsyncGenerator<string, void, undefined> {
  // What goes wrong comes out of the loop below. A body destroyed after the loop has nobody left to tell.
  body.on('error', () => {});
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    heard();
    for await (const chunk of body) {
      heard();
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) if (line.trim()) yield line;
      if (rest.length > longestLine) throw new Error('a line of the watch never ends');
    }
    if (rest.trim()) throw new Error('the watch ended in the middle of a line');
  } finally {
    body.destroy();
  }
}
