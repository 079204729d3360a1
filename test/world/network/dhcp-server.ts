import { ipRangesOverlap, ipSubnetOf, listIpAddresses, parseIp, parseIpRange } from '../../../src/lib/net/ip.ts';
import type { DhcpLease } from '../machine-runner/machine.ts';

/** Configuration of a DHCP server. */
export interface DhcpSettings {
  readonly prefix: number;
  readonly gateway: string;
  /** Addresses by MAC address. */
  readonly reservations?: Readonly<Record<string, string>>;
  /** Addresses for other cards, e.g. `192.0.2.100-192.0.2.199`. Without a range they get none. */
  readonly range?: string | undefined;
}

/**
 * A DHCP server of one network. A card with a reservation is offered that address and no other; any other card gets one
 * of the range, always the same. Leases never expire, but a new reservation applies to the next request.
 */
export class DhcpServer {
  readonly #settings: DhcpSettings;
  readonly #reservations = new Map<string, string>();
  /** MAC addresses by the address handed out from the range. */
  readonly #leases = new Map<string, string>();

  constructor(settings: DhcpSettings) {
    this.#settings = settings;
    for (const [mac, address] of Object.entries(settings.reservations ?? {})) this.reserve(mac, address);
  }

  /** Throws a RangeError for an invalid configuration. */
  reserve(mac: string, address: string): void {
    const { prefix, gateway } = this.#settings;
    const [own, at] = [parseIp(address), parseIp(gateway)];
    const subnet = at && ipSubnetOf(at, prefix);
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(mac)) throw new RangeError(`${mac} is no MAC address`);
    if (!own || !subnet || !ipRangesOverlap(own, subnet))
      throw new RangeError(`${address} is not in the subnet of ${gateway}/${prefix}`);
    const other = [...this.#reservations].find(([whose, what]) => what === address && whose !== mac.toLowerCase());
    if (other) throw new RangeError(`${address} is reserved for ${other[0]} already`);
    this.#reservations.set(mac.toLowerCase(), address);
  }

  /** The address offered to a card; undefined: no answer. */
  offer(mac: string): DhcpLease | undefined {
    const { prefix, gateway } = this.#settings;
    const access = mac.toLowerCase();
    const address = this.#reservations.get(access) ?? this.#leased(access);
    return address === undefined ? undefined : { address, prefix, gateway };
  }

  #leased(mac: string): string | undefined {
    const range = parseIpRange(this.#settings.range ?? '');
    const taken = new Set(this.#reservations.values());
    for (const address of range ? listIpAddresses([range]) : []) {
      if (taken.has(address) || (this.#leases.get(address) ?? mac) !== mac) continue;
      this.#leases.set(address, mac);
      return address;
    }
    return undefined;
  }
}
