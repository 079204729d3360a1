import type { AddressClaim } from '../address-claim.ts';
import type { MachineDiskKey } from '../machine-disk-key.ts';
import type { Facts, Owner, PlatformContext, Step, StepContext } from '../platform.ts';
import type { InFailureDomain } from './failure-domains.ts';

/** What is outside, carries our mark, and names a Machine that is not known. */
export interface Orphan {
  /** Name of the Machine, as the mark has it. */
  readonly machine: string;
  /** What there is of it, in words, e.g. `virtual machine shop_cp_0_abcdefgh (STOPPED)`. */
  readonly what: readonly string[];
  /** Something of it runs, or nobody can tell that nothing does. */
  readonly runs: boolean;
  /** Why it may be something else than what was made for the Machine, in a sentence. It is never removed then. */
  readonly doubt?: string;
  /** What the steps that made it had written down, as far as those need it that remove it. */
  readonly facts: Facts;
}

export type OrphanContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & {
    /** The mark that counts, but for the Machine. */
    readonly ours: Omit<Owner, 'machine'>;
    /** Whether a Machine of that name is known: what carries its name is none. */
    isKnown(machine: string): boolean;
  };

/** What steps may know of a machine without a Machine. */
export type OrphanRemovalContext<C = unknown> = PlatformContext<C> &
  Partial<InFailureDomain> &
  Pick<StepContext<C>, 'owner' | 'facts'> & {
    readonly addresses: Pick<AddressClaim, 'release'>;
    readonly diskKey: Pick<MachineDiskKey, 'forget'>;
  };

/** Where machines are made and not only lent, some may outlive their Machine: one deleted by force, or lost with a backup. */
export interface OrphanCapability<C> {
  /** Read-only: those that this ProviderConfig would have made. */
  find(context: OrphanContext<C>): Promise<readonly Orphan[]>;
  /** Back to nothing, from any state in between. Each looks for the mark again right before it changes anything. */
  readonly remove: readonly Step<OrphanRemovalContext<C>>[];
}
