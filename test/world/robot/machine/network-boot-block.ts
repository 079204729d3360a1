import type { FirewallState } from '../state.ts';

/**
 * Whether the switch blocks the network boot: the option for Hetzner services is off, and no rule accepts everything.
 */
export function blocksNetworkBoot(firewall: FirewallState | null): boolean {
  if (firewall?.status !== 'active' || firewall.whitelistHos) return false;
  return !firewall.rules.input.some(
    ({ name: _, action, ip_version: version, ...limits }) =>
      action === 'accept' && version !== 'ipv6' && Object.values(limits).every((value) => value === null),
  );
}
