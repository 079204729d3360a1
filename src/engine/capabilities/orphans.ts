import type { AddressClaim } from '../address-claim.ts';
import type { PlatformContext, StepContext } from '../contexts.ts';
import type { MachineDiskKey } from '../machine-disk-key.ts';
import type { Owner } from '../node.ts';
import type { Facts, Step } from '../step.ts';
import type { InFailureDomain } from './failure-domains.ts';

/** A resource on the platform that carries the ownership mark and names a Machine that does not exist. */
export interface Orphan {
  /** Name of the Machine, as the mark records it. */
  readonly machine: string;
  /** Descriptions of its resources, e.g. `virtual machine shop_cp_0_abcdefgh (STOPPED)`. */
  readonly resources: readonly string[];
  /** A resource of it runs, or it cannot be proven that none does. */
  readonly isRunning: boolean;
  /** Why it may not be the resource created for the Machine, in a sentence. It is never removed then. */
  readonly uncertainty?: string;
  /** The facts of the steps that created it, as far as the removal needs them. */
  readonly facts: Facts;
}

export type OrphanContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & {
    /** The ownership mark, except for the Machine. */
    readonly instance: Omit<Owner, 'machine'>;
    /** Whether a Machine of that name exists: a resource that carries its name is no orphan. */
    isKnown(machine: string): boolean;
  };

/** The context of steps that remove resources without a Machine. */
export type OrphanRemovalContext<C = unknown> = PlatformContext<C> &
  Partial<InFailureDomain> &
  Pick<StepContext<C>, 'owner' | 'facts'> & {
    readonly addresses: Pick<AddressClaim, 'release'>;
    readonly diskKey: Pick<MachineDiskKey, 'delete'>;
  };

/**
 * For platforms that create machines. Resources may outlive their Machine after a forced deletion or the restore of a
 * backup.
 */
export interface OrphanCapability<C> {
  /** Read-only: the orphans that this ProviderConfig would have created. */
  find(context: OrphanContext<C>): Promise<readonly Orphan[]>;
  /** Back to nothing, from any state in between. Each step checks the mark again right before it changes anything. */
  readonly remove: readonly Step<OrphanRemovalContext<C>>[];
}
