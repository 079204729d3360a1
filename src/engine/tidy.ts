import type { CheckContext, Facts, NodeSpec, Owner } from './platform.ts';
import type { AtSite } from './sites.ts';

/** What is kept for many machines together, and may not be taken from any of them. */
export interface Needed {
  /** What ProviderConfigs name, and what Machines that have not joined are made for: it may be booted at any moment. */
  readonly talos: readonly NodeSpec['talos'][];
  /** What the steps of all Machines have written down. */
  readonly facts: readonly Facts[];
}

export type TidyContext<C = unknown> = CheckContext<C> &
  AtSite & {
    /** The mark that counts, but for the Machine. */
    readonly ours: Omit<Owner, 'machine'>;
    /** As it is right now. Undefined: it cannot be told, so nothing may go. */
    needed(): Promise<Needed | undefined>;
  };
