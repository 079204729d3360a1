import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerState } from './pod-types.ts';

/** The exit of a program. After a signal, the exit code is 128 and the number of the signal. */
interface Exit {
  readonly exitCode: number;
  readonly signal?: number;
  readonly finishedAt: Date;
}

/** A program in a container, from its start to its end. */
export class ContainerProcess {
  readonly startedAt = new Date();
  /** Every line of both output streams. */
  readonly lines: string[] = [];
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #exit: Exit | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    const killNow = (): void => void child.kill('SIGKILL');
    process.once('exit', killNow);
    for (const input of [child.stdout, child.stderr])
      if (input) createInterface({ input }).on('line', (line) => void this.lines.push(line));
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    this.ended = closed.then(
      ([code, signal]) => this.#end(code, signal),
      (error: Error) => {
        this.lines.push(error.message);
        this.#end(127, null);
      },
    );
    void this.ended.finally(() => process.off('exit', killNow));
  }

  #end(code: number | null, name: NodeJS.Signals | null): void {
    const signal = name ? constants.signals[name] : 0;
    const exitCode = signal ? 128 + signal : (code ?? 255);
    this.#exit = { exitCode, ...(signal ? { signal } : {}), finishedAt: new Date() };
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Undefined while it runs. */
  get exitCode(): number | undefined {
    return this.#exit?.exitCode;
  }

  get ranSeconds(): number {
    return ((this.#exit?.finishedAt.getTime() ?? Date.now()) - this.startedAt.getTime()) / 1000;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async end(graceSeconds: number): Promise<void> {
    this.kill('SIGTERM');
    const patience = new AbortController();
    const over = pause(graceSeconds * 1000, true, { signal: patience.signal }).catch(() => false);
    await Promise.race([this.ended, over]);
    patience.abort();
    if (await over) this.kill('SIGKILL');
    await this.ended;
  }

  /** As a container's state, running or terminated. */
  get state(): ContainerState {
    const startedAt = toKubeTime(this.startedAt);
    if (!this.#exit) return { running: { startedAt } };
    const { exitCode, signal, finishedAt } = this.#exit;
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const how = { exitCode, ...(signal ? { signal } : {}), reason };
    return { terminated: { ...how, startedAt, finishedAt: toKubeTime(finishedAt) } };
  }
}

/** In the time format of Kubernetes: without fractions. */
export const toKubeTime = (date: Date): string => date.toISOString().replace(/\.\d+/, '');
