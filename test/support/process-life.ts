import { setMaxListeners } from 'node:events';
import { advance, type Plan, type Progress, type Verdict } from '../../src/engine/advance.ts';
import { OpenConnections } from '../../src/engine/connections.ts';
import type { Facts, Step, StepContext } from '../../src/engine/platform.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { ProviderError } from '../../src/lib/errors.ts';
import { noLog } from '../../src/lib/log.ts';
import { KeyRoom } from './key-room.ts';

/** Where keys of disks are kept, in the lives of all processes of a test file. */
export const keyRoom = new KeyRoom();

/** What outlives a crash of the process: the record of one Machine. */
export interface Durable {
  progress: Progress | undefined;
}

/** One walk of a Machine's steps. */
export interface Course {
  readonly plan: Plan;
  readonly steps: readonly Step<StepContext>[];
  readonly machine: string;
  readonly durable: Durable;
  context(facts: Facts): StepContext;
  /** Seconds until it is walked again, where it asks for `seconds`. */
  pause(seconds: number): number;
  /** Where it ends beside its end. */
  until?(verdict: Verdict): boolean;
}

/** So often a machine is walked until something has to come of it. */
const mostRounds = 400;

/** One life of the provider's process, as far as a platform sees of it. */
export class Life {
  readonly connections = new OpenConnections();
  readonly stop = new AbortController();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    // A controller gives each Machine one of its own; here a hundred of them listen to the same.
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
      diskKey: keyRoom.of(machine, this.stop.signal),
      ...{ facts, connections: this.connections, log: noLog, clock: this.#clock, signal: this.stop.signal },
    };
  }

  /** Walks until the list is finished or somebody has to change something; what passes by itself is waited for. */
  protected async follow({ plan, steps, machine, durable, context, pause, until }: Course): Promise<Verdict> {
    const [clock, { signal }] = [this.#clock, this.stop];
    for (let round = 0; round < mostRounds; round += 1) {
      const verdict = await advance({
        ...{ plan, steps, progress: durable.progress, context, clock, signal },
        save: async (progress) => {
          signal.throwIfAborted();
          durable.progress = structuredClone(progress);
        },
      });
      if (process.env['SCENE_TRACE']) process.stderr.write(`${machine} ${describe(verdict)}\n`);
      if (verdict.kind === 'finished' || verdict.kind === 'failed' || until?.(verdict)) return verdict;
      if (verdict.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
      await clock.sleep(pause(verdict.seconds) * 1000, signal);
    }
    throw new Error(`${machine} does not get through ${durable.progress?.step}`);
  }

  /** As `kill -9` would: sockets end, nothing is written any more. */
  async kill(): Promise<void> {
    this.stop.abort(new Error('killed'));
    await this.connections.close();
  }
}

function describe(verdict: Verdict): string {
  const why = verdict.kind === 'error' ? String(verdict.error) : 'message' in verdict ? verdict.message : '';
  return `${verdict.progress.step} ${why}`;
}
