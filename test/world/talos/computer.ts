import type { MachineDescription, RunningMachine } from '../machine.ts';
import { type BootDecision, decideBoot } from './boot.ts';
import { readPartition } from './disk.ts';
import { live } from './life.ts';
import { type BootKind, type Ending, Node } from './node.ts';
import { startShutdown } from './sequences.ts';
import type { World } from './world.ts';

/** A machine that was switched on. It boots, reboots and kexecs until it is off. */
export class Computer implements RunningMachine {
  readonly description: MachineDescription;
  readonly exited: Promise<void>;
  rebooted = false;
  /** The boot that runs now; undefined between two boots and while nothing boots. */
  node: Node | undefined;

  readonly #world: World;
  readonly #bootCounts: Map<string, number>;
  readonly #power = new AbortController();
  #stuck: string | undefined;

  constructor(world: World, description: MachineDescription, bootCounts: Map<string, number>) {
    this.#world = world;
    this.#bootCounts = bootCounts;
    this.description = description;
    this.exited = this.#run();
  }

  get stuck(): string | undefined {
    return this.node?.stuck ?? this.#stuck;
  }

  /** Ignored while nothing runs that could hear it. */
  pressPowerButton(): void {
    const node = this.node;
    if (node && !node.stuck && node.services.up('machined')) startShutdown(node);
  }

  kill(): void {
    this.#power.abort(new Error('the power was cut'));
  }

  async #run(): Promise<void> {
    let ending: Ending = 'reboot';
    let kind: BootKind = 'coldBoot';
    try {
      while (!this.#power.signal.aborted) {
        const decision = ending === 'kexec' ? kexec(this.description) : decideBoot(this.description);
        if (decision.from === 'nothing') {
          this.#stuck = decision.reason;
          this.#world.log({ machine: this.description.name }, decision.reason);
          await new Promise((resolve) => this.#power.signal.addEventListener('abort', resolve, { once: true }));
          return;
        }
        const wasInstalling: boolean = this.node === undefined && decision.from === 'disc';
        ending = await this.#boot(decision, kind);
        if (ending === 'off') return;
        this.rebooted = ending === 'reboot';
        if (this.rebooted && this.description.rebootEnds) return;
        kind = wasInstalling && ending === 'kexec' ? 'kexecAfterInstall' : 'reboot';
      }
    } catch (error) {
      if (!this.#power.signal.aborted)
        this.#stuck = `the simulated machine broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    } finally {
      this.node = undefined;
    }
  }

  async #boot(decision: Exclude<BootDecision, { from: 'nothing' }>, kind: BootKind): Promise<Ending> {
    const count = (this.#bootCounts.get(this.description.uuid) ?? 0) + 1;
    this.#bootCounts.set(this.description.uuid, count);
    const node = new Node(this.#world, this.description, decision.image, decision.from, kind, count);
    this.node = node;
    const cut = () => {
      node
        .close()
        .catch((error: unknown) => this.#world.log({ machine: this.description.name }, `power cut: ${String(error)}`));
    };
    this.#power.signal.addEventListener('abort', cut, { once: true });
    try {
      return await live(node);
    } finally {
      this.#power.signal.removeEventListener('abort', cut);
      this.node = undefined;
    }
  }
}

/** The kernel of the installed system is started directly, without the firmware; without one the firmware decides. */
function kexec(machine: MachineDescription): BootDecision {
  for (const disk of [...machine.disks].sort((a, b) => a.order - b.order)) {
    const image = readPartition(disk.path, 'BOOT');
    if (image) return { from: 'disk', path: disk.path, image };
  }
  return decideBoot(machine);
}
