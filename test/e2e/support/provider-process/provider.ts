import type { ProviderInstance } from '../../../../src/api/names.ts';
import { createLog } from '../../../../src/commands/create-log.ts';
import { runInit } from '../../../../src/commands/init.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import {
  type ChildProcessRunOptions,
  type ProviderRun,
  type ProviderRunOptions,
  runAsChildProcess,
  runInProcess,
  testLogging,
} from './provider-run.ts';

/** How `run` is run. */
export interface ProviderRunMode {
  /** By how much the deadlines of its calls are shorter; default 1. */
  readonly hasteOfDeadlines?: number;
  /** Run as the built program, whose time runs so much faster than ours. Left out: in this process. */
  readonly asProgram?: Pick<ChildProcessRunOptions, 'speed' | 'verbosity' | 'metrics' | 'heapMiB'>;
  /** How long its Lease lasts; default 45. Only for a life in this process. */
  readonly leaseSeconds?: number;
  /** Whether it is started again, as a Pod would be, when a machine that is too slow for a test has cost it its Lease. */
  readonly isRevived?: boolean;
}

export interface ProviderOptions extends Omit<ProviderRunOptions, 'say'>, ProviderRunMode {
  readonly clock: Clock;
}

/** The `init` and `run` commands, to be stopped, killed and started at will. */
export class Provider {
  /** Every line it ever logged, of all its lives. */
  readonly lines: string[] = [];
  readonly #options: ProviderOptions;
  readonly #say = (line: string): void => void this.lines.push(line);
  #life: ProviderRun | undefined;
  /** Those that were killed and may still be ending. */
  #killed: Promise<void> = Promise.resolve();
  /** How the last life ended, when it ended by itself. */
  #trouble: unknown;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get instance(): ProviderInstance {
    const { environment, name: provider, namespace } = this.#options;
    return { environment, provider, namespace };
  }

  /** Of the process that it runs in, when that is one of its own. */
  get pid(): number | undefined {
    return this.#life?.pid;
  }

  /** As the operator's Job does, before the first start. */
  async init(): Promise<void> {
    const { environment, name: providerName, kubeconfig } = this.#options;
    const log = createLog(testLogging, { write: this.#say });
    const { signal } = new AbortController();
    await runInit({
      environment,
      providerName,
      kubeconfig,
      logging: testLogging,
      dryRun: false,
      withOpenmcpCrds: false,
      log,
      signal,
    });
  }

  /** Begins a life. */
  start(): void {
    if (this.#life) throw new Error(`${this.name} runs already`);
    const { asProgram, ...options } = this.#options;
    const common = { ...options, say: this.#say };
    const life = asProgram ? runAsChildProcess({ ...common, ...asProgram }) : runInProcess(common);
    const ended = life.ended.catch((error: unknown) => this.#died(error));
    this.#life = { ...life, ended };
  }

  #died(error: unknown): void {
    const hasLostLease = this.lines.slice(-20).some((line) => line.includes('leadership is lost'));
    if (!this.#options.isRevived || !hasLostLease) {
      this.#trouble = error;
    } else if (this.#life) {
      this.#life = undefined;
      this.start();
    }
  }

  /** Ends the life as SIGTERM would, and waits for the end. Throws what it died of before. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop();
    await Promise.all([life?.ended, this.#killed]);
    this.throwIfDead();
  }

  /**
   * Ends the life as `kill -9` does, here and now. The Lease that it may have had stays taken. Resolves when it can do
   * nothing more to anybody.
   */
  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    const [before, ended] = [this.#killed, life?.ended];
    this.#killed = (async () => void (await Promise.all([before, ended])))();
    await life?.kill();
  }

  async restart(): Promise<void> {
    await this.stop();
    this.start();
  }

  /** It does not end by itself, whatever the world does to it. */
  throwIfDead(): void {
    if (this.#trouble !== undefined) throw new Error(`${this.name} ended by itself`, { cause: this.#trouble });
  }

  /** The last lines that tell something, for people. */
  tail(lines = 40): string {
    return this.lines
      .filter((line) => !line.includes('"level":"debug"'))
      .slice(-lines)
      .join('');
  }
}
