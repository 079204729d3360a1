import type { PlatformContext } from '../contexts.ts';
import type { NodeSpec, Owner } from '../node.ts';
import type { Facts } from '../step.ts';
import type { InFailureDomain } from './failure-domains.ts';
import type { OrphanCapability } from './orphans.ts';

/** What the platform cluster names of the resources that many machines share. */
export interface ResourcesInUse {
  /**
   * The Talos images that ProviderConfigs name, and those of Machines that have not joined and can boot at any moment.
   */
  readonly talos: readonly NodeSpec['talos'][];
  /** The facts of all Machines. */
  readonly facts: readonly Facts[];
}

/** A resource on the platform that machines share, such as a boot image in a cache. */
export interface SharedResource {
  /** A description, e.g. `the boot image /mnt/tank/talos/images/x.iso on nas`. */
  readonly description: string;
  /** Some machine of the system has it attached, whatever its owner. */
  readonly isAttached: boolean;
  isNamedIn(inUse: ResourcesInUse): boolean;
  /** Since when it is neither attached nor named. It is recorded with the resource, where every process finds it. */
  readonly unusedSince: Date | undefined;
  recordUnusedSince(since: Date | undefined): Promise<void>;
  /**
   * Removes it, unless something uses it by now: the platform asks `isNamed` and looks for attachments right before.
   * Returns whether it was removed.
   */
  remove(isNamed: () => Promise<boolean>): Promise<boolean>;
}

/**
 * A resource retained on the platform cluster for a Machine that was deleted by force, and that no object there refers
 * to. The fields are those recorded when it was created.
 */
export interface RetainedResource {
  readonly machine: string;
  /** A description, e.g. `the address 192.168.10.21`. */
  readonly description: string;
  /** The system that the machine was created on. */
  readonly system: string;
  /**
   * The resources of the machine on that system, as its platform names them. Without any, nothing proves that the
   * machine is gone.
   */
  readonly roots?: readonly string[];
}

export type GarbageContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & {
    /** The ownership mark, except for the Machine. */
    readonly instance: Omit<Owner, 'machine'>;
  };

/** For platforms where resources outlive their use. All members only read. */
export interface GarbageCapability<C = unknown> {
  /** The shared resources of this provider in one failure domain. Absent: there are none. */
  sharedResources?(context: GarbageContext<C>): Promise<readonly SharedResource[]>;
  /**
   * Of these retained resources, those whose machine was created in this failure domain and has left nothing there.
   * Absent: nothing can be proven.
   */
  findUnneeded?<T extends RetainedResource>(context: GarbageContext<C>, retained: readonly T[]): Promise<readonly T[]>;
  /** Resources that were left without a Machine. Absent: none can be. */
  readonly orphans?: OrphanCapability<C>;
}
