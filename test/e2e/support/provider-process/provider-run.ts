import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createLog } from '../../../../src/commands/create-log.ts';
import type { AutoscalerSettings, StatusPageSettings } from '../../../../src/commands/flags/operator-settings.ts';
import { runProvider } from '../../../../src/commands/run.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import { KillableContext } from './killable-context.ts';

/** One run of the `run` command, from its start to its end. */
export interface ProviderRun {
  /** Resolves at its end. Rejects with its error when it ended without a stop. */
  readonly ended: Promise<void>;
  /** Requests an orderly end, as SIGTERM does. */
  stop(): void;
  /**
   * Ends it as `kill -9` does: its connections close at once, and it neither finishes nor releases anything. Resolves
   * when it cannot affect other processes any more.
   */
  kill(): Promise<void>;
  /** Of a process of its own. */
  readonly pid?: number | undefined;
}

export interface ProviderRunOptions {
  readonly environment: string;
  /** `--provider-name`. */
  readonly name: string;
  /** Of the platform cluster. */
  readonly kubeconfig: string;
  /** `POD_NAMESPACE`. */
  readonly namespace: string;
  /** `POD_NAME`; default: the name and a number. */
  readonly podName?: string;
  /** Receives each line of its log. */
  say(line: string): void;
}

export const testLogging = { verbosity: 'debug', format: 'json', timestamps: true, stacks: true } as const;

export interface InProcessRunOptions extends ProviderRunOptions {
  readonly clock: Clock;
  /** The factor by which the deadlines of its calls are shorter; default 1. */
  readonly hasteOfDeadlines?: number;
  /** The clock of its watches; default: the system's. */
  readonly watchClock?: Clock;
  /** Where autoscalers are served; default: nowhere. */
  readonly autoscaler?: AutoscalerSettings;
  /** Where the status page is served; default: nowhere. */
  readonly statusPage?: StatusPageSettings;
  /** Where it sends traces; default: nowhere. */
  readonly otlpEndpoint?: string;
  /** Default 45: a busy machine may pause this process for longer than a third of the usual duration. */
  readonly leaseSeconds?: number;
}

/** `run` in this process. */
export function runInProcess(options: InProcessRunOptions): ProviderRun {
  const { environment, name, kubeconfig, namespace, clock, hasteOfDeadlines, leaseSeconds = 45 } = options;
  const stop = new AbortController();
  const mortal = new KillableContext(hasteOfDeadlines);
  const end = (): void => stop.abort(new DOMException('stopped by the test', 'AbortError'));
  const write = (line: string): void => {
    if (!mortal.isDead) options.say(line);
  };
  const life = mortal.live(() =>
    runProvider({
      environment,
      providerName: name,
      kubeconfig,
      logging: testLogging,
      dryRun: false,
      log: createLog(testLogging, { write }),
      signal: stop.signal,
      clock,
      leaseSeconds,
      ...(options.autoscaler ? { autoscaler: options.autoscaler } : {}),
      ...(options.statusPage ? { statusPage: options.statusPage } : {}),
      ...(options.otlpEndpoint ? { otlpEndpoint: options.otlpEndpoint } : {}),
      ...(options.watchClock ? { watchClock: options.watchClock } : {}),
      controllers: ['providerconfig', 'cluster', 'machine', 'host', 'accessrequest'],
      podNamespace: namespace,
      podName: options.podName ?? `${name}-0`,
      accessNamespace: 'accessrequests',
    }),
  );
  const ended = life.catch((error: unknown) => {
    if (!mortal.isDead) throw error;
  });
  const kill = async (): Promise<void> => {
    mortal.die();
    end();
  };
  return { ended, stop: end, kill };
}

export interface ChildProcessRunOptions extends ProviderRunOptions {
  /** The source address of its connections: a unique loopback address. Default: the system's. */
  readonly address?: string;
  /** The factor by which its time runs faster than real time: timers and monotonic clock, without dates. */
  readonly speed: number;
  /** Its log level; default: everything. */
  readonly verbosity?: 'info' | 'debug';
  /** Address and port of its metrics. Default: none. */
  readonly metrics?: string;
  /** Whether its metrics are served over HTTPS to authorized clients only. Default: to everybody over HTTP. */
  readonly protectsMetrics?: boolean;
  /** The size of its heap in MiB; Node uses half of a container's memory limit. Default: that of the machine. */
  readonly heapMiB?: number;
}

/** The built program as a process of its own. */
export function runAsChildProcess(options: ChildProcessRunOptions): ProviderRun {
  const { environment, name, kubeconfig, namespace, podName = `${name}-0`, speed, address, say } = options;
  const { verbosity = 'debug', metrics = '0', protectsMetrics = false, heapMiB } = options;
  const where = [`--environment=${environment}`, `--provider-name=${name}`, `--kubeconfig=${kubeconfig}`];
  const how = ['--health-probe-bind-address=0', '--format=json', `--verbosity=${verbosity}`];
  const counts = [`--metrics-bind-address=${metrics}`, `--metrics-secure=${protectsMetrics}`];
  const hurry = speed === 1 ? [] : ['--import', './test/support/accelerate-time.mjs'];
  const known = address === undefined ? [] : ['--import', './test/e2e/support/provider-process/local-address.mjs'];
  const env = { POD_NAMESPACE: namespace, POD_NAME: podName, HURRY: String(speed), LOCAL_ADDRESS: address };
  const limits = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
  const child = spawn(
    process.execPath,
    [...limits, ...hurry, ...known, 'dist/main.js', 'run', ...where, ...how, ...counts],
    {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  createInterface({ input: child.stderr }).on('line', (line) => say(`${line}\n`));
  const ended = exitOf(child);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ended, stop: () => void child.kill('SIGTERM'), kill, pid: child.pid };
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      // A process that has not loaded yet has no handler of SIGTERM.
      const isStopped = signal === 'SIGKILL' || (signal === 'SIGTERM' && child.killed);
      if (code === 0 || isStopped) resolve();
      else reject(new Error(`the program ended with ${code ?? signal}`));
    });
  });
}
