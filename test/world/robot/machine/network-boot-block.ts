import type { FirewallState } from '../state.ts';

/**
 * Whether the switch keeps the network boot away: the provider's own services have no free pass, and no rule lets everything in.
 */
export function blocksNetworkBoot(firewall: FirewallState | null): boolean {
  if (firewall?.status !== 'active' || firewall.whitelistHos) return false;
  return !firewall.rules.input.some(
    ({ name: _, action, ip_version: version, ...limits }) =>
      action === 'accept' && version !== 'ipv6' && Object.values(limits).every((value) => value === null),
  );
}
