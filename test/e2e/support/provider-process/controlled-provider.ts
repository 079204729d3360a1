import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { residentMiB } from '../../../bench/process-stats.ts';
import type { NetworkFault } from './simulated-network.ts';

/** All of it is plain data: the process gets it as JSON. */
export interface ControlledProviderOptions {
  readonly environment: string;
  /** `--provider-name`. */
  readonly name: string;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** The source address of its connections: a unique loopback address. */
  readonly address: string;
  /** The factor by which the waits of its controllers are shorter. */
  readonly speed: number;
  readonly leaseSeconds: number;
  /** Of its dates before those of other processes. */
  readonly hoursAhead: number;
}

/** What the parent asks of the process. It answers with the id. */
export type ControlMessage = { readonly id: number } & (
  | { readonly kind: 'cut'; readonly to: string; readonly fault: NetworkFault }
  | { readonly kind: 'heal' }
  | { readonly kind: 'collect' }
  | { readonly kind: 'clock'; readonly hoursAhead: number }
);

/** What a process uses. Linux only; 0 elsewhere. */
export interface ProcessUsage {
  readonly residentMiB: number;
  /** Open files and sockets. */
  readonly handles: number;
}

const script = join(import.meta.dirname, 'provider-script.ts');
/** Log lines that are kept. */
const keptLines = 4000;

/** `run` as a process of its own, with a network that can be cut and dates that can be set, and a kubelet. */
export class ControlledProvider {
  readonly lines: string[] = [];
  /** Log lines of level error or fatal. */
  readonly errors: string[] = [];
  /** The last log line of each process that has ended without a stop. */
  readonly deaths: string[] = [];
  /** Whether the present process has said that it leads. */
  isLeading = false;
  #options: ControlledProviderOptions;
  #child: ChildProcess | undefined;
  #nextId = 0;

  constructor(options: ControlledProviderOptions) {
    this.#options = options;
  }

  get hoursAhead(): number {
    return this.#options.hoursAhead;
  }

  start(): void {
    const child = spawn(
      process.execPath,
      [
        '--expose-gc',
        '--import',
        'tsx',
        '--disable-warning=ExperimentalWarning',
        script,
        JSON.stringify(this.#options),
      ],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    );
    this.#child = child;
    this.isLeading = false;
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.#keep(line));
    child.once('exit', () => {
      if (this.#child !== child) return;
      // As the kubelet does.
      this.deaths.push(this.lines.at(-1) ?? '');
      this.start();
    });
  }

  #keep(line: string): void {
    this.lines.push(line);
    if (this.lines.length > 1.5 * keptLines) this.lines.splice(0, this.lines.length - keptLines);
    if (line.includes('"message":"leading"')) this.isLeading = true;
    if (/^\{"level":"(error|fatal)"/.test(line)) this.errors.push(line.slice(0, 600));
  }

  /** Ends it as SIGTERM does. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Ends it as `kill -9` does. The Lease stays taken. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Cuts its network to the servers whose `host:port` matches. */
  async cut(to: RegExp, fault: NetworkFault = 'silent'): Promise<void> {
    await this.#ask({ kind: 'cut', to: to.source, fault });
  }

  async heal(): Promise<void> {
    await this.#ask({ kind: 'heal' });
  }

  /** Sets its dates; also those of processes that are started later. */
  async setClock(hoursAhead: number): Promise<void> {
    this.#options = { ...this.#options, hoursAhead };
    await this.#ask({ kind: 'clock', hoursAhead });
  }

  /** After a collection of garbage. */
  async usage(): Promise<ProcessUsage> {
    await this.#ask({ kind: 'collect' });
    const pid = this.#child?.pid ?? 0;
    const handles = (await readdir(`/proc/${pid}/fd`).catch(() => [])).length;
    return { residentMiB: Math.round(await residentMiB(pid)), handles };
  }

  /** A process that does not run yet, or not any more, starts with an intact network. */
  async #ask(question: DistributiveOmit<ControlMessage, 'id'>): Promise<void> {
    const child = this.#child;
    if (!child?.connected) return;
    this.#nextId += 1;
    const id = this.#nextId;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        child.off('message', hear);
        child.off('exit', done);
        resolve();
      };
      const hear = (answer: unknown): void => {
        if (answer === id) done();
      };
      child.on('message', hear);
      child.on('exit', done);
      child.send({ ...question, id }, (error) => {
        if (error) done();
      });
    });
  }

  /** The last log lines, as a report. */
  tail(lines = 40): string {
    return `${this.lines.slice(-lines).join('\n')}\n`;
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
