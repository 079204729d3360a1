import { type AdvanceResult, advance, type Progress } from '../../src/engine/advance.ts';
import { noLog } from '../../src/lib/log.ts';
import type { DesiredNode, DrainProgress, UpdateStepContext } from '../../src/talos/update/update-context.ts';
import { updateStepsOf } from '../../src/talos/update/update-steps.ts';
import type { HardwareModel } from './hardware-model.ts';
import { Killed, NodeModel, plain } from './node-model.ts';

/** What the node is to be. */
export const desiredNode = (change: Partial<DesiredNode> = {}): DesiredNode => {
  const { talosVersion = '1.13.9', schematic = 'aaaa', configuration = plain } = change;
  return {
    ...{ providerId: 'truenas://nas/worker-0', configuration, talosVersion, schematic, kubernetesVersion: '1.35.4' },
    revision: `${talosVersion}-${schematic}-${configuration.reveal().length}`,
    installer: `factory.example.org/nocloud-installer/${schematic}:v${talosVersion}`,
    ...change,
  };
};

export interface UpdateSetup {
  readonly node?: NodeModel;
  readonly role?: 'controlplane' | 'worker';
  readonly isOnlyNode?: boolean;
  readonly drained?: () => DrainProgress;
  /** That of a platform that can change it. */
  readonly hardware?: HardwareModel;
  /** No other control plane takes the virtual address. */
  readonly isAddressStuck?: boolean;
}

/** One Machine with its record, and the process that runs its steps. */
export class UpdateRun {
  readonly node: NodeModel;
  desired = desiredNode();
  progress: Progress = { plan: 'provision', step: '', since: '', failures: 0, facts: { address: '192.0.2.7' } };
  approved: string[] = [];
  isCordoned = false;
  /** The steps that were run, each once. */
  readonly walked: string[] = [];
  readonly #setup: UpdateSetup;
  #now = 0;

  constructor(setup: UpdateSetup = {}) {
    this.#setup = setup;
    this.node = setup.node ?? new NodeModel();
  }

  /** Until the steps are finished, or wait for somebody else. */
  async run(passes = 40): Promise<AdvanceResult> {
    let result: AdvanceResult | undefined;
    for (let pass = 0; pass < passes; pass += 1) {
      result = await this.pass();
      if (result.kind !== 'waiting' || result.reason !== undefined) return result;
    }
    if (!result) throw new Error('no pass');
    return result;
  }

  async pass(): Promise<AdvanceResult> {
    this.#now += 5000;
    const clock = { now: () => new Date(this.#now), monotonic: () => this.#now } as UpdateStepContext['clock'];
    return await advance({
      plan: 'update',
      steps: updateStepsOf(this.#setup.hardware?.capability),
      progress: this.progress,
      context: (facts) => this.#context(facts, clock),
      save: async (progress) => {
        this.node.count();
        this.progress = progress.finishedAt ? { ...progress, plan: 'provision' } : progress;
      },
      concernsRecord: (error) => error instanceof Killed,
      observer: (step) => {
        if (!this.walked.includes(step)) this.walked.push(step);
      },
      clock,
    });
  }

  #context(facts: Progress['facts'], clock: UpdateStepContext['clock']): UpdateStepContext {
    const { role = 'worker', isOnlyNode = false, drained } = this.#setup;
    const context = {
      ...{ facts, clock, log: noLog, signal: new AbortController().signal },
      ...{ node: { role }, desired: this.desired, isOnlyNode },
      ...(this.#setup.hardware && { compareHardware: this.#setup.hardware.compare }),
      openTalos: () => this.node.client(),
      drain: async () => {
        this.node.count('drain');
        this.isCordoned = true;
        return drained?.() ?? { kind: 'drained' };
      },
      uncordon: async () => {
        this.node.count('uncordon');
        this.isCordoned = false;
        return { kind: 'drained' };
      },
      moveVirtualAddress: async () => {
        this.node.count('move');
        const moves = this.node.effects.filter((effect) => effect === 'move').length;
        if (moves < 2 || this.#setup.isAddressStuck) return { kind: 'waiting', message: 'It is on its way.' };
        return { kind: 'moved' };
      },
      takeApproval: async (reason: string) => {
        const isApproved = this.approved.includes(reason);
        this.approved = this.approved.filter((one) => one !== reason);
        return isApproved;
      },
      findProblem: async () => undefined,
    };
    return context as never as UpdateStepContext;
  }
}
