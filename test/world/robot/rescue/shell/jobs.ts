import type { RescueProcess } from '../process.ts';

interface Job {
  readonly ended: Promise<number>;
  readonly process: RescueProcess;
}

/** The commands that a shell started in the background, by process id. */
export class Jobs {
  readonly #running = new Map<number, Job>();

  add(process: RescueProcess, ended: Promise<number>): number {
    // Nothing has to wait for it.
    ended.catch(() => undefined);
    this.#running.set(process.id, { ended, process });
    return process.id;
  }

  get(id: number): Job | undefined {
    return this.#running.get(id);
  }

  /** Its status, once. 127: there is no such job. */
  async take(id: number): Promise<number> {
    const status = (await this.#running.get(id)?.ended) ?? 127;
    this.#running.delete(id);
    return status;
  }

  ids(): number[] {
    return [...this.#running.keys()];
  }
}
