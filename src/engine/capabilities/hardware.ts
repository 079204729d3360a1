import type { StepContext } from '../contexts.ts';
import type { Step } from '../step.ts';

/** The hardware of a machine, as its platform shows it, and how it differs from the desired one. */
export interface HardwareComparison {
  /** What it has, for users, e.g. `4 CPUs, 8192 MiB`. */
  readonly running: string;
  readonly changes: readonly HardwareChange[];
}

export interface HardwareChange {
  /** A field of the platform's section, e.g. `size.memoryMiB`. */
  readonly field: string;
  /** `hardware`: the machine has to be off. `replace`: another machine has to take its place. */
  readonly class: 'hardware' | 'replace';
}

/**
 * For platforms whose machines can get other hardware while they are off. Default: a machine keeps the size and the
 * hardware that it was created with.
 */
export interface HardwareCapability<C = unknown> {
  /** Describes the desired hardware of an existing machine, for users. Another text is another hardware. Makes no calls. */
  describe(context: StepContext<C>): string;
  /** Compares a provisioned machine with its desired hardware. Read-only. */
  compare(context: StepContext<C>): Promise<HardwareComparison>;
  /** Done when the platform can start the machine with its desired hardware. They run while the node serves. */
  readonly admission: readonly Step<StepContext<C>>[];
  /**
   * From a drained node to a machine that was started with its desired hardware. They begin again after any
   * interruption, and also when the desired hardware has changed meanwhile. While they run, `observe` offers no repair
   * that would start the machine.
   */
  readonly steps: readonly Step<StepContext<C>>[];
}
