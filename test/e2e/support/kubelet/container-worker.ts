import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerProcess } from './container-process.ts';
import type { Container, ContainerState, ContainerStatus } from './pod-types.ts';
import { probeResults } from './probe.ts';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/**
 * The first restart comes at once, the next ones after 10 s, 20 s and so on, until a run lasts long enough to reset it.
 */
const backOff = { firstSeconds: 10, mostSeconds: 300, forgivenSeconds: 600 } as const;

/** Grace period of a container that is restarted by its failed probe. */
const probeFailureGraceSeconds = 30;

export interface ContainerOptions {
  readonly spec: Container;
  readonly restartPolicy: RestartPolicy;
  /** Of its Pod. */
  readonly address: string;
  start(): ContainerProcess;
  /** Called on each change of its status. */
  changed(): void;
}

/** One container of a Pod: its runs, its probes and its restarts. */
export class ContainerWorker {
  readonly spec: Container;
  readonly lives: ContainerProcess[] = [];
  readonly #options: ContainerOptions;
  readonly #stop = new AbortController();
  /** Undefined: the state of its last run. */
  #waiting: ContainerState | undefined = { waiting: { reason: 'ContainerCreating' } };
  #isStarted = false;
  #isReady = false;

  constructor(options: ContainerOptions) {
    this.#options = options;
    this.spec = options.spec;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Undefined while it runs, and before its first run. */
  get exitCode(): number | undefined {
    return this.lives.at(-1)?.exitCode;
  }

  get status(): ContainerStatus {
    const { name, image } = this.spec;
    const last = this.#waiting ? this.lives.at(-1) : this.lives.at(-2);
    return {
      name,
      image,
      imageID: image,
      restartCount: Math.max(0, this.lives.length - 1),
      ready: this.#isReady,
      started: this.#isStarted,
      state: this.#waiting ?? this.lives.at(-1)?.state ?? {},
      lastState: last?.state ?? {},
    };
  }

  /** Reports why it cannot start yet. */
  wait(reason: string, message: string): void {
    if (this.#waiting?.waiting?.message === message) return;
    this.#waiting = { waiting: { reason, message } };
    this.#options.changed();
  }

  /** Resolves when it has ended and is not restarted any more. */
  async run(): Promise<void> {
    const { restartPolicy, start } = this.#options;
    while (!this.#stop.signal.aborted) {
      const life = start();
      this.lives.push(life);
      this.#waiting = undefined;
      await this.#attend(life);
      if (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && life.exitCode === 0)) return;
      await this.#rest();
    }
  }

  /** Ends it for good: SIGTERM, and SIGKILL after so many seconds. */
  async stop(graceSeconds: number): Promise<void> {
    this.#stop.abort();
    const life = this.lives.at(-1);
    if (life && life.exitCode === undefined) await life.end(graceSeconds);
  }

  /** Runs its probes from the start of a run to its end. */
  async #attend(life: ContainerProcess): Promise<void> {
    const over = new AbortController();
    const probing = this.#probe(life, over.signal);
    await life.ended;
    over.abort();
    await probing;
    this.#show(false, false);
  }

  #show(isStarted: boolean, isReady: boolean): void {
    this.#isStarted = isStarted;
    this.#isReady = isReady;
    this.#options.changed();
  }

  async #probe(life: ContainerProcess, signal: AbortSignal): Promise<void> {
    const at = { container: this.spec, address: this.#options.address, signal };
    const { startupProbe, readinessProbe, livenessProbe } = this.spec;
    const end = (): void => void life.end(probeFailureGraceSeconds);
    if (startupProbe) {
      this.#show(false, false);
      for await (const isGood of probeResults(startupProbe, at)) {
        if (!isGood) return end();
        break;
      }
      if (signal.aborted) return;
    }
    this.#show(true, !readinessProbe);
    const readiness = async (): Promise<void> => {
      if (!readinessProbe) return;
      for await (const isGood of probeResults(readinessProbe, at))
        if (isGood !== this.#isReady) this.#show(true, isGood);
    };
    const liveness = async (): Promise<void> => {
      if (!livenessProbe) return;
      for await (const isGood of probeResults(livenessProbe, at)) if (!isGood) return end();
    };
    await Promise.all([readiness(), liveness()]);
  }

  /** Waits for the backoff before a restart. */
  async #rest(): Promise<void> {
    const sinceLongOne =
      this.lives.length - 1 - this.lives.findLastIndex(({ ranSeconds }) => ranSeconds >= backOff.forgivenSeconds);
    if (sinceLongOne <= 1) return;
    const seconds = Math.min(backOff.firstSeconds * 2 ** (sinceLongOne - 2), backOff.mostSeconds);
    this.wait('CrashLoopBackOff', `back-off ${seconds}s restarting failed container ${this.spec.name}`);
    await pause(seconds * 1000, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}
