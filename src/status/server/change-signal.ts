/** Counts changes, and wakes the waiters for the next one. It stores no change. */
export class ChangeSignal {
  #version = 0;
  readonly #waiting = new Set<() => void>();

  get version(): number {
    return this.#version;
  }

  notify(): void {
    this.#version += 1;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when there is a newer version than `seen`, or the signal aborts. */
  async after(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#version > seen || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
