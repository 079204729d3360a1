import { EventEmitter, once } from 'node:events';

/** Something that can be waited for. */
export class Changes {
  readonly #events = new EventEmitter().setMaxListeners(0);

  tell(): void {
    this.#events.emit('change');
  }

  /** Resolves at the next change. Rejects with the reason of the signal. */
  async next(signal: AbortSignal): Promise<void> {
    try {
      await once(this.#events, 'change', { signal });
    } catch {
      throw signal.reason;
    }
  }
}
