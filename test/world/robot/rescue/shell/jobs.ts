import type { RescueProcess } from '../process.ts';

/** What a shell started in the background, by process id. */
export class Jobs {
  readonly #running = new Map<
    number,
    { readonly ended: Promise<number>; readonly process: RescueProcess | undefined }
  >();

  add(id: number, ended: Promise<number>, process?: RescueProcess): number {
    // Whoever waits sees how it ended; nobody has to wait.
    ended.catch(() => undefined);
    this.#running.set(id, { ended, process });
    return id;
  }

  get(id: number): { readonly ended: Promise<number>; readonly process: RescueProcess | undefined } | undefined {
    return this.#running.get(id);
  }

  /** Its status is told once. */
  async take(id: number): Promise<number | undefined> {
    const job = this.#running.get(id);
    if (!job) return undefined;
    const status = await job.ended;
    this.#running.delete(id);
    return status;
  }

  ids(): number[] {
    return [...this.#running.keys()];
  }
}
