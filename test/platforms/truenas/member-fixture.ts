import { annotations } from '../../../src/api/names.ts';
import {
  asProvisioned,
  type RemediationActions,
  remediateMachine,
} from '../../../src/controllers/remediation/remediate-machine.ts';
import type { Services } from '../../../src/controllers/shared/services.ts';
import { advance } from '../../../src/engine/advance.ts';
import type { RepairContext } from '../../../src/engine/capabilities/repair.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { markJoined } from './baseline-run.ts';
import { fixtureClock, type MachineRecord, TrueNasProviderProcess } from './true-nas-platform-fixture.ts';

type Machine = Parameters<typeof remediateMachine>[1];

/** A member of a cluster as its controller stores it, with the recorded Events. */
export class MemberFixture {
  readonly durable: MachineRecord;
  readonly events: string[] = [];
  readonly machine: Machine;
  process = new TrueNasProviderProcess();
  /** The changes of its ProviderConfig. */
  change: object;

  constructor(
    durable: MachineRecord,
    desiredSpecs: { approve?: string; maintenance?: string } = {},
    change: object = {},
  ) {
    this.durable = durable;
    this.change = change;
    this.machine = { metadata: { name: 'shop-cp-0', annotations: {} } } as unknown as Machine;
    this.wish(desiredSpecs);
  }

  wish({ approve: repair, maintenance }: { approve?: string; maintenance?: string }): void {
    const all = { [annotations.approve]: repair, [annotations.maintenance]: maintenance };
    const given = Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
    this.machine.metadata.annotations = Object.fromEntries(given);
  }

  get fact(): Readonly<Record<string, unknown>> {
    return this.durable.progress?.facts ?? {};
  }

  get #hands(): RemediationActions {
    const { process, durable, change } = this;
    return {
      signal: process.stop.signal,
      finish: () => false,
      observe: async ({ facts }) => await truenas.observe(process.context('shop-cp-0', facts, change)),
      repair: async (reasons) =>
        await advance<RepairContext>({
          ...{ plan: 'repair', steps: truenas.repair?.steps ?? [], progress: durable.progress, clock: fixtureClock },
          context: (facts) => ({ ...process.context('shop-cp-0', facts, change), reasons }),
          save: async (progress) => {
            process.stop.signal.throwIfAborted();
            durable.progress = structuredClone(
              progress.finishedAt ? asProvisioned(progress, fixtureClock.now()) : progress,
            );
          },
          signal: process.stop.signal,
        }),
    };
  }

  /** One observation, and the remediation that follows. */
  async once() {
    const services = {
      clock: fixtureClock,
      kube: {
        merge: async () => {
          delete this.machine.metadata.annotations?.[annotations.approve];
          return this.machine;
        },
      },
      events: { record: (...[, , reason]: string[]) => void this.events.push(String(reason)) },
    } as unknown as Services;
    const kept = await remediateMachine(services, this.machine, this.durable.progress!, this.#hands);
    const { observation, observed, seconds } = kept;
    const [reasons, words] = [
      observed.drift.map(({ reason }) => reason),
      observed.drift.map((one) => one.message).join(' '),
    ];
    return { verdict: observation, reasons, words, seconds };
  }

  /** Repeats until the repair has ended. */
  async rest() {
    for (let round = 0; round < 60; round += 1) {
      try {
        const kept = await this.once();
        if (kept.verdict.kind === 'finished' && kept.seconds >= 45) return kept;
        if (kept.verdict.kind === 'failed') return kept;
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
      }
      await fixtureClock.sleep(5000, this.process.stop.signal);
    }
    throw new Error(`it is not put right: ${this.durable.progress?.step}`);
  }
}

/** A member of a cluster, provisioned. */
export async function provisionMember(change: object = {}): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  const process = new TrueNasProviderProcess();
  await process.walk('provision', 'shop-cp-0', durable, change);
  markJoined(durable);
  await process.kill();
  return durable;
}
