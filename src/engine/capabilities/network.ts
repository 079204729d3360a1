import type { Addressing } from '../addressing.ts';
import type { Owner } from '../node.ts';

/** How a platform uses `network` of the ProviderConfig. */
export interface NetworkCapability<S> {
  /** Default: nodes on the main network, and a virtual address. */
  addressing?(section: S): Addressing;
  /**
   * MAC address of the first card of the machine that gets an address of the pool from a DHCP server. Absent: nodes do
   * not use DHCP.
   */
  reservedMac?(owner: Omit<Owner, 'machine'>, address: string): string;
}
