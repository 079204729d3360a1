/** Durable, exclusive claims on the addresses of `network.addressPool`. */
export interface AddressClaim {
  /**
   * The address that this machine holds, claimed now if it holds none. With a gateway only in a pool of the main
   * network. `madeOn`: the system that the machine is created on and, separated by spaces, the resources it will have
   * there. Garbage collection needs it when it finds the claim without its Machine.
   */
  claim(madeOn?: string): Promise<{
    readonly address: string;
    readonly prefix: number;
    readonly gateway?: string;
    /**
     * A DHCP server gives the address to the card that it is reserved for. Absent: the machine configuration sets it.
     */
    readonly assignment?: 'DHCP';
  }>;
  /** Releases the address. Success when there is none. */
  release(): Promise<void>;
}
