import type { PlatformContext } from '../contexts.ts';
import type { NodeSpec, Owner } from '../node.ts';
import type { Facts } from '../step.ts';
import type { InFailureDomain } from './failure-domains.ts';
import type { OrphanCapability } from './orphans.ts';

/** Resources that many machines share and that must not be removed while one of them needs them. */
export interface ResourcesInUse {
  /**
   * The Talos images that ProviderConfigs name, and those of Machines that have not joined and can boot at any moment.
   */
  readonly talos: readonly NodeSpec['talos'][];
  /** The facts of all Machines. */
  readonly facts: readonly Facts[];
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
  /**
   * Deletes the retained resource once nothing of the machine has existed for a day. Returns whether it was deleted.
   */
  deleteIfUnneeded(): Promise<boolean>;
}

export type GarbageContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & {
    /** The ownership mark, except for the Machine. */
    readonly instance: Omit<Owner, 'machine'>;
    /** The resources in use right now. Undefined: unknown, so nothing may be removed. */
    inUse(): Promise<ResourcesInUse | undefined>;
    /** The retained resources that may be deleted once nothing of their machine exists. */
    retained(): Promise<readonly RetainedResource[]>;
  };

/** For platforms where resources outlive their use. */
export interface GarbageCapability<C = unknown> {
  /** Removes resources that machines shared and that no machine needs. Returns a sentence for each. Default: nothing. */
  collect?(context: GarbageContext<C>): Promise<readonly string[]>;
  /** Resources that were left without a Machine. Absent: none can be. */
  readonly orphans?: OrphanCapability<C>;
}
