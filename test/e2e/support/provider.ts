import { init } from '../../../src/commands/init.ts';
import { createLog } from '../../../src/commands/log.ts';
import { run } from '../../../src/commands/run.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import type { Log } from '../../../src/lib/log.ts';

export interface ProviderOptions {
  /** `--provider-name`. */
  readonly name: string;
  readonly environment: string;
  /** Of the platform cluster. */
  readonly kubeconfig: string;
  /** `POD_NAMESPACE`. */
  readonly namespace: string;
  readonly clock: Clock;
}

/** The `init` and `run` commands in this process, to be stopped and started at will. */
export class Provider {
  /** Every line it ever logged, of all its lives. */
  readonly lines: string[] = [];
  readonly #options: ProviderOptions;
  #life: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  /** How the last life ended, when it ended by itself. */
  #trouble: unknown;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** As the operator's Job does, before the first start. */
  async init(): Promise<void> {
    const stop = new AbortController();
    await init({ ...this.#common(), log: this.#log(), signal: stop.signal });
  }

  /** Begins a life. */
  start(): void {
    if (this.#life) throw new Error(`${this.name} runs already`);
    const stop = new AbortController();
    const ended = run({
      ...this.#common(),
      log: this.#log(),
      signal: stop.signal,
      clock: this.#options.clock,
      // A busy machine may stand still for longer than a third of the usual lease.
      leaseSeconds: 45,
      controllers: ['providerconfig', 'cluster', 'machine', 'accessrequest'],
      podNamespace: this.#options.namespace,
      podName: `${this.name}-0`,
      accessNamespace: 'accessrequests',
    }).catch((error: unknown) => {
      this.#trouble = error;
    });
    this.#life = { stop, ended };
  }

  /** Ends the life as SIGTERM would, and waits for the end. Throws what it died of before. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop.abort(new DOMException('stopped by the test', 'AbortError'));
    await life?.ended;
    this.throwIfDead();
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

  #common() {
    const { environment, name: providerName, kubeconfig } = this.#options;
    const logging = { verbosity: 'debug', format: 'json', timestamps: true, stacks: true } as const;
    return { environment, providerName, kubeconfig, logging, dryRun: false };
  }

  #log(): Log {
    return createLog(this.#common().logging, { write: (line) => this.lines.push(line) });
  }
}
