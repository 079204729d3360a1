import type { Facts, NodeSpec, Owner, PlatformContext } from '../platform.ts';
import type { InFailureDomain } from './failure-domains.ts';

/** What is kept for many machines together, and may not be taken from any of them. */
export interface ResourcesInUse {
  /** What ProviderConfigs name, and what Machines that have not joined are made for: it may be booted at any moment. */
  readonly talos: readonly NodeSpec['talos'][];
  /** What the steps of all Machines have written down. */
  readonly facts: readonly Facts[];
}

/**
 * What is kept on the platform cluster for a Machine that does not exist, and that nothing there needs: its Machine was deleted by
 * force. As it was noted when it was made.
 */
export interface RetainedResource {
  readonly machine: string;
  /** In words, e.g. `the address 192.168.10.21`. */
  readonly what: string;
  /** Where the machine was made. */
  readonly system: string;
  /** What lies there of the machine, as its platform names it. Without any nothing proves that it is gone. */
  readonly roots?: readonly string[];
  /** Nothing of the machine is there: when that has been so for a day, it goes. Whether it has gone. */
  letGo(): Promise<boolean>;
}

export type GarbageContext<C = unknown> = PlatformContext<C> &
  InFailureDomain & {
    /** The mark that counts, but for the Machine. */
    readonly ours: Omit<Owner, 'machine'>;
    /** As it is right now. Undefined: it cannot be told, so nothing may go. */
    needed(): Promise<ResourcesInUse | undefined>;
    /** What may be let go where nothing is left of the machine that it was for. */
    keepsakes(): Promise<readonly RetainedResource[]>;
  };
