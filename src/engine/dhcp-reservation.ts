import type { Facts } from './platform.ts';

/** Whether the address of a machine comes from a DHCP server. Those that were made before there was a choice do not say. */
export const hasDhcpReservation = (facts: Facts): boolean => facts['assignment'] === 'DHCP';

/**
 * What has to be so for a node to be found that a DHCP server gives its address, in sentences; undefined where none does. Which
 * address it has instead nobody can tell who does not reach it.
 */
export function describeDhcpReservation(facts: Facts): string | undefined {
  if (!hasDhcpReservation(facts)) return undefined;
  const { address, mac } = facts;
  return `It is found once a DHCP server of its network gives ${address} to the MAC address ${mac}. If it runs all the same, look for that MAC address among the leases: with another address, or none, reserve ${address} for it there and restart the machine.`;
}
