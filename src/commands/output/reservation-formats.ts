/** An address that a DHCP server reserves for one network card. */
export interface DhcpReservation {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  readonly address: string;
}

/** Reservations in the configuration format of a DHCP server, by its name; `text` is for users. */
export const reservationFormats = {
  text: (all) => all.map(({ mac, address }) => `${address.padEnd(15)}  ${mac}`).join('\n'),
  dnsmasq: (all) => all.map(({ mac, address }) => `dhcp-host=${mac},${address}`).join('\n'),
  isc: (all) =>
    all
      .map(
        ({ mac, address }) => `host ${dhcpHostName(address)} { hardware ethernet ${mac}; fixed-address ${address}; }`,
      )
      .join('\n'),
  /** The value of `reservations` of a subnet. */
  kea: (all) => {
    const entries = all.map(({ mac, address }) => JSON.stringify({ 'hw-address': mac, 'ip-address': address }));
    return `[\n${entries.map((entry) => `  ${entry}`).join(',\n')}\n]`;
  },
} as const satisfies Record<string, (all: readonly DhcpReservation[]) => string>;
export type ReservationFormat = keyof typeof reservationFormats;

/** Names of declarations are unique in the whole configuration. */
const dhcpHostName = (address: string): string => `talos-${address.replaceAll('.', '-')}`;
