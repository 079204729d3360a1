/** Durable, exclusive claims on the addresses of `network.addressPool`. */
export interface AddressClaim {
  /**
   * The address this machine holds, claimed now if it holds none. With a gateway in a pool of the main network only. `madeOn`: the
   * system that the machine is to be made on, and after it, with spaces between, what will lie there of it: for those who find the
   * claim without its Machine.
   */
  claim(madeOn?: string): Promise<{
    readonly address: string;
    readonly prefix: number;
    readonly gateway?: string;
    /** A DHCP server gives it to the card that it is reserved for. Absent: the node has it by its configuration. */
    readonly assignment?: 'DHCP';
  }>;
  /** Gives it back. Success when there is none. */
  release(): Promise<void>;
}
