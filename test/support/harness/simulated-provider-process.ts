import { setMaxListeners } from 'node:events';
import { type AdvanceResult, advance, type Progress, type StepPlanName } from '../../../src/engine/advance.ts';
import { ProcessConnectionCache } from '../../../src/engine/connection-cache.ts';
import type { StepContext } from '../../../src/engine/contexts.ts';
import type { Facts, Step } from '../../../src/engine/step.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import { FakeDiskKeyStore } from './fake-disk-key-store.ts';

/** The disk keys, shared by all simulated processes of a test file. */
export const diskKeyStore = new FakeDiskKeyStore();

/** The state that survives a crash of the process: the record of one Machine. */
export interface MachineRecord {
  progress: Progress | undefined;
}

/** Options for one run of a Machine's steps. */
export interface StepRunOptions {
  readonly plan: StepPlanName;
  readonly steps: readonly Step<StepContext>[];
  readonly machine: string;
  readonly durable: MachineRecord;
  context(facts: Facts): StepContext;
  /** Seconds until the next run, when a step asks for `seconds`. */
  pause(seconds: number): number;
  /** A condition that ends the run early. */
  until?(verdict: AdvanceResult): boolean;
}

/** After this many runs a Machine has to be finished. */
const maxRounds = 400;

/** One simulated process of the provider, as far as a platform sees it. */
export class SimulatedProviderProcess {
  readonly connections = new ProcessConnectionCache();
  readonly stop = new AbortController();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    // A controller gives each Machine its own signal; here a hundred Machines listen to the same one.
    setMaxListeners(0, this.stop.signal);
  }

  /** The part of a context that is the same on every platform. */
  protected ground(machine: string, facts: Facts, node: Pick<StepContext['node'], 'size' | 'talos'>) {
    return {
      owner: { installation: 'installation-1', provider: 'talos', machine },
      node: {
        ...{ name: machine, role: 'controlplane' as const, pool: 'cp', labels: {}, ...node },
        cluster: { namespace: 'shop', name: 'shop' },
      },
      diskKey: diskKeyStore.of(machine, this.stop.signal),
      ...{ facts, connections: this.connections, log: noLog, clock: this.#clock, signal: this.stop.signal },
    };
  }

  /** Runs the steps until they are finished or a user has to change something; temporary failures are retried. */
  protected async follow({
    plan,
    steps,
    machine,
    durable,
    context,
    pause,
    until,
  }: StepRunOptions): Promise<AdvanceResult> {
    const [clock, { signal }] = [this.#clock, this.stop];
    for (let round = 0; round < maxRounds; round += 1) {
      const verdict = await advance({
        ...{ plan, steps, progress: durable.progress, context, clock, signal },
        save: async (progress) => {
          signal.throwIfAborted();
          durable.progress = structuredClone(progress);
        },
      });
      if (process.env['SCENE_TRACE']) process.stderr.write(`${machine} ${describeVerdict(verdict)}\n`);
      if (verdict.kind === 'finished' || verdict.kind === 'failed' || until?.(verdict)) return verdict;
      if (verdict.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
      await clock.sleep(pause(verdict.seconds) * 1000, signal);
    }
    throw new Error(`${machine} does not get through ${durable.progress?.step}`);
  }

  /** Like `kill -9`: sockets close, and nothing is written any more. */
  async kill(): Promise<void> {
    this.stop.abort(new Error('killed'));
    await this.connections.close();
  }
}

function describeVerdict(verdict: AdvanceResult): string {
  const why = verdict.kind === 'error' ? String(verdict.error) : 'message' in verdict ? verdict.message : '';
  return `${verdict.progress.step} ${why}`;
}
