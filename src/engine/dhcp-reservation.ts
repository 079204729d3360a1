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
  return `A DHCP server must assign ${address} to the MAC address ${mac}. If the machine runs, check the lease of this MAC address: without a lease of ${address}, reserve the address and restart the machine.`;
}
