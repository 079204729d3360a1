import type { Facts } from './step.ts';

/**
 * Whether a DHCP server assigns the address of a machine. Machines that were created before this was a choice do not
 * record it.
 */
export const hasDhcpReservation = (facts: Facts): boolean => facts['assignment'] === 'DHCP';

/**
 * Sentences on the requirements for reaching a node whose address comes from a DHCP server; undefined when it does not.
 * The actual address of an unreachable node is unknown.
 */
export function describeDhcpReservation(facts: Facts): string | undefined {
  if (!hasDhcpReservation(facts)) return undefined;
  const { address, mac } = facts;
  return `It is found once a DHCP server of its network gives ${address} to the MAC address ${mac}. If it runs all the same, look for that MAC address among the leases: with another address, or none, reserve ${address} for it there and restart the machine.`;
}
