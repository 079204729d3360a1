import { setMaxListeners } from 'node:events';
import type { Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/text.ts';
import type { ChangeSignal } from './change-signal.ts';

/** Bounds of what viewers can open, in numbers and seconds. */
export const streamLimits = {
  streams: 64,
  /** Shortest time between two states. */
  pause: 1,
  /** Longest time without a message: a connection that ended unnoticed is found by it. */
  heartbeat: 15,
  /** A reader that takes nothing for so long is disconnected. */
  stalled: 60,
  /** The viewer connects again, and is authorized again. */
  lifetime: 600,
} as const;

/** The JSON to send; undefined: the object does not exist. */
export type StateSource = () => Promise<string | undefined>;

/**
 * Server-sent events: the newest state when it has changed, and the time as a heartbeat. A state is built when the reader
 * has taken the one before, so a slow reader skips states and has no buffer of its own.
 */
export class EventStreams {
  readonly #changes: ChangeSignal;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #open = 0;

  constructor(changes: ChangeSignal, clock: Clock, signal: AbortSignal) {
    // Every stream listens to this signal.
    setMaxListeners(0, signal);
    this.#changes = changes;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Number of open streams. */
  get open(): number {
    return this.#open;
  }

  get isFull(): boolean {
    return this.#open >= streamLimits.streams;
  }

  /** Serves a stream until it is closed or its time is over, and ends it. Never rejects. */
  async serve(stream: Writable, read: StateSource): Promise<void> {
    this.#open += 1;
    await withChildSignal(this.#signal, async (signal, close) => {
      stream.once('close', close);
      stream.on('error', close);
      // A state that cannot be built ends the stream; the viewer connects again.
      await this.#send(stream, read, signal).catch(() => {});
    });
    this.#open -= 1;
    stream.end();
  }

  async #send(stream: Writable, read: StateSource, signal: AbortSignal): Promise<void> {
    const endsAt = this.#clock.monotonic() + streamLimits.lifetime * 1000;
    let sent: string | undefined;
    while (!signal.aborted && this.#clock.monotonic() < endsAt) {
      const { version } = this.#changes;
      const state = await read();
      if (state === undefined) {
        stream.write('event: gone\ndata: {}\n\n');
        return;
      }
      // JSON has no line breaks.
      const message = state === sent ? '' : `data: ${state}\n\n`;
      sent = state;
      await this.#write(stream, `${message}event: time\ndata: ${formatTime(this.#clock.now())}\n\n`, signal);
      await this.#sleep(streamLimits.pause, signal);
      await this.#awaitChange(version, signal);
    }
  }

  /** Returns when the reader can take more. */
  async #write(stream: Writable, text: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted || stream.write(text)) return;
    await withChildSignal(signal, async (waiting) => {
      const drained = new Promise<void>((resolve) => stream.once('drain', resolve));
      const stalled = this.#sleep(streamLimits.stalled, waiting).then(() => {
        if (!waiting.aborted) stream.destroy();
      });
      await Promise.race([drained, stalled]);
    });
  }

  async #awaitChange(seen: number, signal: AbortSignal): Promise<void> {
    await withChildSignal(signal, async (waiting) => {
      const heartbeat = this.#sleep(streamLimits.heartbeat - streamLimits.pause, waiting);
      await Promise.race([this.#changes.after(seen, waiting), heartbeat]);
    });
  }

  /** Ends early when the signal aborts. */
  async #sleep(seconds: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}

/** Runs the work under a signal that ends with the work, with the parent, or with `end`, and leaves no listener. */
async function withChildSignal(
  parent: AbortSignal,
  work: (signal: AbortSignal, end: () => void) => Promise<void>,
): Promise<void> {
  const child = new AbortController();
  const end = (): void => child.abort();
  if (parent.aborted) end();
  parent.addEventListener('abort', end);
  try {
    await work(child.signal, end);
  } finally {
    parent.removeEventListener('abort', end);
    end();
  }
}
