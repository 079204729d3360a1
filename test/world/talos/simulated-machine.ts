import type { MachineDescription, RunningMachine } from '../machine-runner/machine.ts';
import { type BootDecision, decideBoot } from './boot/decide-boot.ts';
import { readPartition } from './boot/disk-partitions.ts';
import type { TalosEnvironment } from './environment.ts';
import { runBoot } from './lifecycle/run-boot.ts';
import { startShutdown } from './lifecycle/sequences.ts';
import { type BootCause, type BootOutcome, TalosNode } from './node.ts';

/** A machine that is switched on. It boots, reboots and kexecs until it is off. */
export class SimulatedMachine implements RunningMachine {
  readonly description: MachineDescription;
  readonly exited: Promise<void>;
  rebooted = false;
  /** The current boot; undefined between two boots and while nothing boots. */
  node: TalosNode | undefined;

  readonly #world: TalosEnvironment;
  readonly #bootCounts: Map<string, number>;
  readonly #power = new AbortController();
  #stuck: string | undefined;
  #isHung = false;

  constructor(world: TalosEnvironment, description: MachineDescription, bootCounts: Map<string, number>) {
    this.#world = world;
    this.#bootCounts = bootCounts;
    this.description = description;
    this.exited = this.#run();
  }

  get stuck(): string | undefined {
    return this.node?.stuck ?? this.#stuck;
  }

  get boots(): number {
    return this.#bootCounts.get(this.description.uuid) ?? 0;
  }

  /** Ignored while no system runs. */
  pressPowerButton(): void {
    const node = this.node;
    if (node && !node.stuck && node.services.up('machined')) startShutdown(node, { drain: false });
  }

  kill(): void {
    this.#power.abort(new Error('the power was cut'));
  }

  /** The kernel hangs: the machine stays switched on, and nothing on it answers. */
  hang(): void {
    this.#isHung = true;
    this.node?.close().catch((error: unknown) => this.#logFailure('hang', error));
  }

  async #run(): Promise<void> {
    let ending: BootOutcome = 'reboot';
    let kind: BootCause = 'coldBoot';
    try {
      while (!this.#power.signal.aborted) {
        const decision = this.#decideBoot(ending);
        if (decision.from === 'nothing') return await this.#stayStuck(decision.reason);
        const wasInstalling: boolean = this.node === undefined && decision.from === 'disc';
        ending = await this.#boot(decision, kind);
        if (ending === 'off') return;
        this.rebooted = ending === 'reboot';
        if (this.rebooted && this.description.rebootEnds) return;
        kind = wasInstalling && ending === 'kexec' ? 'kexecAfterInstall' : 'reboot';
      }
    } catch (error) {
      if (this.#isHung) await this.#stayStuck('the kernel hangs');
      else if (!this.#power.signal.aborted)
        this.#stuck = `the simulated machine broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    } finally {
      this.node = undefined;
    }
  }

  #decideBoot(ending: BootOutcome): BootDecision {
    if (this.#world.brokenMachines.has(this.description.name))
      return { from: 'nothing', reason: 'the machine is broken' };
    return ending === 'kexec' ? kexec(this.description) : decideBoot(this.description);
  }

  /** Until the power is cut. */
  async #stayStuck(reason: string): Promise<void> {
    this.node = undefined;
    this.#stuck = reason;
    this.#world.log({ machine: this.description.name }, reason);
    if (this.#power.signal.aborted) return;
    await new Promise((resolve) => this.#power.signal.addEventListener('abort', resolve, { once: true }));
  }

  #logFailure(what: string, error: unknown): void {
    this.#world.log({ machine: this.description.name }, `${what}: ${String(error)}`);
  }

  async #boot(decision: Exclude<BootDecision, { from: 'nothing' }>, kind: BootCause): Promise<BootOutcome> {
    const count = (this.#bootCounts.get(this.description.uuid) ?? 0) + 1;
    this.#bootCounts.set(this.description.uuid, count);
    const node = new TalosNode(this.#world, this.description, decision.image, decision.from, kind, count);
    this.node = node;
    const cut = () => {
      node.close().catch((error: unknown) => this.#logFailure('power cut', error));
    };
    this.#power.signal.addEventListener('abort', cut, { once: true });
    try {
      return await runBoot(node);
    } finally {
      this.#power.signal.removeEventListener('abort', cut);
      this.node = undefined;
    }
  }
}

/**
 * The kernel of the installed system starts directly, without the firmware; without an installed system the firmware
 * decides.
 */
function kexec(machine: MachineDescription): BootDecision {
  for (const disk of [...machine.disks].sort((a, b) => a.order - b.order)) {
    const image = readPartition(disk.path, 'BOOT');
    if (image) return { from: 'disk', path: disk.path, image };
  }
  return decideBoot(machine);
}
