import type { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import type { DesiredMachine } from '../../../src/controllers/machine/reconcile/desired.ts';
import type { ObservedMachine } from '../../../src/controllers/machine/reconcile/observed.ts';
import { planMachine } from '../../../src/controllers/machine/reconcile/plan.ts';
import { approvalsOf } from '../../../src/controllers/machine/repair/approvals.ts';
import { asProvisioned, concludeRepair } from '../../../src/controllers/machine/repair/conclude-repair.ts';
import type { Services } from '../../../src/controllers/shared/services.ts';
import { type AdvanceResult, advance, type Progress } from '../../../src/engine/advance.ts';
import type { RepairContext } from '../../../src/engine/capabilities/repair.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { markJoined } from './baseline-run.ts';
import { fixtureClock, type MachineRecord, TrueNasProviderProcess } from './true-nas-platform-fixture.ts';

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

  async #observe(progress: Progress): Promise<ObservedMachine> {
    const { facts } = progress;
    const observation = await truenas.observe(this.process.context('shop-cp-0', facts, this.change));
    return { progress, observation, approvals: approvalsOf(this.machine) };
  }

  async #repair(reasons: readonly string[]): Promise<AdvanceResult> {
    const { process, durable, change } = this;
    return await advance<RepairContext>({
      ...{ plan: 'repair', steps: truenas.repair?.steps ?? [], progress: durable.progress, clock: fixtureClock },
      context: (facts) => ({ ...process.context('shop-cp-0', facts, change), reasons }),
      save: async (progress) => {
        process.stop.signal.throwIfAborted();
        durable.progress = structuredClone(
          progress.finishedAt ? asProvisioned(progress, fixtureClock.now()) : progress,
        );
      },
      signal: process.stop.signal,
    });
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
    const environment = { platform: truenas };
    const desired = { services, machine: this.machine, goal: 'provision', environment } as unknown as DesiredMachine;
    const before = await this.#observe(this.durable.progress!);
    const plan = planMachine(desired, before);
    const repair =
      plan.kind === 'walk' && plan.plan === 'repair'
        ? await this.#repair(plan.drift.map(({ reason }) => reason))
        : undefined;
    const after =
      repair?.kind === 'finished' ? await this.#observe(asProvisioned(repair.progress, fixtureClock.now())) : before;
    const { verdict, observation, seconds } = await concludeRepair(
      { services, machine: this.machine, signal: this.process.stop.signal, monitor: () => false },
      { progress: after.progress!, observation: after.observation!, approvals: before.approvals, repair },
    );
    const [reasons, words] = [
      observation.drift.map(({ reason }) => reason),
      observation.drift.map((one) => one.message).join(' '),
    ];
    return { verdict, reasons, words, seconds };
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
