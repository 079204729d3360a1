import { annotations } from '../../../src/api/names.ts';
import { asMade, type Hands, keepUp } from '../../../src/controllers/machine/upkeep.ts';
import type { Services } from '../../../src/controllers/services.ts';
import { advance } from '../../../src/engine/advance.ts';
import type { MendContext } from '../../../src/engine/mending.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { join } from './rehearsal.ts';
import { clock, type Durable, Process } from './scene.ts';

type Machine = Parameters<typeof keepUp>[1];

/** A member of a cluster as its controller keeps it, and what was told of it. */
export class Keeping {
  readonly durable: Durable;
  readonly events: string[] = [];
  readonly machine: Machine;
  process = new Process();
  /** What its ProviderConfig says by now. */
  change: object;

  constructor(durable: Durable, wishes: { mend?: string; maintenance?: string } = {}, change: object = {}) {
    this.durable = durable;
    this.change = change;
    this.machine = { metadata: { name: 'shop-cp-0', annotations: {} } } as unknown as Machine;
    this.wish(wishes);
  }

  wish({ mend, maintenance }: { mend?: string; maintenance?: string }): void {
    const all = { [annotations.mend]: mend, [annotations.maintenance]: maintenance };
    const given = Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
    this.machine.metadata.annotations = Object.fromEntries(given);
  }

  get fact(): Readonly<Record<string, unknown>> {
    return this.durable.progress?.facts ?? {};
  }

  get #hands(): Hands {
    const { process, durable, change } = this;
    return {
      signal: process.stop.signal,
      rest: () => false,
      look: async ({ facts }) => await truenas.observe(process.context('shop-cp-0', facts, change)),
      mend: async (reasons) =>
        await advance<MendContext>({
          ...{ plan: 'mend', steps: truenas.mending?.mend ?? [], progress: durable.progress, clock },
          context: (facts) => ({ ...process.context('shop-cp-0', facts, change), reasons }),
          save: async (progress) => {
            process.stop.signal.throwIfAborted();
            durable.progress = structuredClone(progress.finishedAt ? asMade(progress, clock.now()) : progress);
          },
          signal: process.stop.signal,
        }),
    };
  }

  /** One look, and what follows from it. */
  async once() {
    const services = {
      clock,
      kube: {
        merge: async () => {
          delete this.machine.metadata.annotations?.[annotations.mend];
          return this.machine;
        },
      },
      events: { record: (...[, , reason]: string[]) => void this.events.push(String(reason)) },
    } as unknown as Services;
    const kept = await keepUp(services, this.machine, this.durable.progress!, this.#hands);
    const { verdict, observed, seconds } = kept;
    const [reasons, words] = [
      observed.drift.map(({ reason }) => reason),
      observed.drift.map((one) => one.message).join(' '),
    ];
    return { verdict, reasons, words, seconds };
  }

  /** Looks until nothing is being put right any more. */
  async rest() {
    for (let round = 0; round < 60; round += 1) {
      try {
        const kept = await this.once();
        if (kept.verdict.kind === 'finished' && kept.seconds >= 45) return kept;
        if (kept.verdict.kind === 'failed') return kept;
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
      }
      await clock.sleep(5000, this.process.stop.signal);
    }
    throw new Error(`it is not put right: ${this.durable.progress?.step}`);
  }
}

/** A member of a cluster, made. */
export async function member(change: object = {}): Promise<Durable> {
  const durable: Durable = { progress: undefined };
  const process = new Process();
  await process.walk('provision', 'shop-cp-0', durable, change);
  join(durable);
  await process.kill();
  return durable;
}
