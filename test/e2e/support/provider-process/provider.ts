import type { ProviderInstance } from '../../../../src/api/names.ts';
import { createLog } from '../../../../src/commands/create-log.ts';
import type { AutoscalerSettings, StatusPageSettings } from '../../../../src/commands/flags/operator-settings.ts';
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

/** Options of the `run` command. */
export interface ProviderRunMode {
  /** The factor by which the deadlines of its calls are shorter; default 1. */
  readonly hasteOfDeadlines?: number;
  /** Run as the built program with accelerated time. Absent: in this process. */
  readonly asProgram?: Pick<ChildProcessRunOptions, 'speed' | 'verbosity' | 'metrics' | 'protectsMetrics' | 'heapMiB'>;
  /** Where it serves autoscalers; default: nowhere. Only for a run in this process. */
  readonly autoscaler?: AutoscalerSettings;
  /** Where it serves its status page; default: nowhere. Only for a run in this process. */
  readonly statusPage?: StatusPageSettings;
  /** Where it sends traces; default: nowhere. Only for a run in this process. */
  readonly otlpEndpoint?: string;
  /** Duration of its Lease in seconds; default 45. Only for a run in this process. */
  readonly leaseSeconds?: number;
  /**
   * Whether it is restarted, as a Pod would be, when it loses its Lease because the machine is too slow for the test.
   */
  readonly isRevived?: boolean;
}

export interface ProviderOptions extends Omit<ProviderRunOptions, 'say'>, ProviderRunMode {
  readonly clock: Clock;
}

/** The `init` and `run` commands, with methods to stop, kill and start them. */
export class Provider {
  /** Every log line of all its runs. */
  readonly lines: string[] = [];
  readonly #options: ProviderOptions;
  readonly #say = (line: string): void => void this.lines.push(line);
  #life: ProviderRun | undefined;
  /** Killed runs that may still be ending. */
  #killed: Promise<void> = Promise.resolve();
  /** The error of the last run, when it ended without a stop. */
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

  /** Of its process, when it has a process of its own. */
  get pid(): number | undefined {
    return this.#life?.pid;
  }

  /** Runs `init`, as the operator's Job does before the first start. */
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

  /** Starts a run. */
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

  /** Ends the run as SIGTERM does, and waits for the end. Throws the error of a run that ended before. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop();
    await Promise.all([life?.ended, this.#killed]);
    this.throwIfDead();
  }

  /**
   * Ends the run as `kill -9` does, at once. The Lease that it may hold stays taken. Resolves when the run cannot
   * affect other processes any more.
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

  /** Whether the run has ended without a stop. */
  get hasEnded(): boolean {
    return this.#trouble !== undefined;
  }

  /** Throws when the run has ended without a stop: no failure of a simulator may end it. */
  throwIfDead(): void {
    if (this.#trouble !== undefined) throw new Error(`${this.name} ended by itself`, { cause: this.#trouble });
  }

  /** The last relevant log lines, as a report. */
  tail(lines = 40): string {
    return this.lines
      .filter((line) => !line.includes('"level":"debug"'))
      .slice(-lines)
      .join('');
  }
}
