import { ProviderConfig } from '../api/provider-config.ts';
import { reservedAddresses } from '../controllers/shared/addresses/fixed-endpoints.ts';
import { choosePlatform } from '../controllers/shared/spec/choose-platform.ts';
import { parseSpec } from '../controllers/shared/spec/parse-spec.ts';
import { ProviderError } from '../lib/errors.ts';
import { listIpAddresses, parseIpRange } from '../lib/net/ip.ts';
import { platforms } from '../platforms/index.ts';
import type { ReservationsSettings } from './flags/read-only-settings.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { type DhcpReservation, reservationFormats } from './output/reservation-formats.ts';
import { formatStructured } from './output/structured-output.ts';
import {
  type ReadOnlyCommandContext,
  type ReadOnlySession,
  withReadOnlySession,
} from './read-only/read-only-session.ts';

/**
 * Prints the DHCP reservations for the nodes of a ProviderConfig: each address of its pool with the MAC address of the
 * node that gets it. The machines need not exist, and the platform is not called.
 */
export async function runReservations(options: ReservationsSettings & ReadOnlyCommandContext): Promise<void> {
  const all = await withReadOnlySession(options, async (at) => await listReservations(at, options.providerConfig));
  const output: CommandOutput<'reservations'> = { reservations: all.map(({ address, mac }) => ({ address, mac })) };
  options.print(
    options.output === 'text' ? reservationFormats[options.dhcpServer](all) : formatStructured(output, options.output),
  );
}

async function listReservations(at: ReadOnlySession, name: string): Promise<DhcpReservation[]> {
  const { kube, signal } = at;
  const config = await kube.find(ProviderConfig, { name }, signal);
  if (!config) throw new ProviderError('CONFIG_INVALID', `There is no ProviderConfig ${name}.`);
  const parsed = parseSpec(config);
  const chosen = parsed.success ? choosePlatform(platforms, parsed.data) : undefined;
  if (!parsed.success || !chosen)
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${name} is not valid: run check --provider-config ${name}.`,
    );
  const { reservedMac } = chosen.platform.network;
  if (!reservedMac)
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${name}: nodes of ${chosen.platform.name} have addresses of their own and need no reservations.`,
    );
  if (parsed.data.network.addressAssignment !== 'DHCP')
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${name}: network.addressAssignment is Static, which needs no DHCP reservations.`,
    );
  const installation = await at.installationId();
  if (!installation) throw new ProviderError('INTERNAL', 'The MAC addresses of nodes need a platform cluster.');
  const given = reservedAddresses({ platforms, stores: { providerConfigs: { list: () => [config] } } });
  const ranges = (parsed.data.network.addressPool ?? []).flatMap((text) => parseIpRange(text) ?? []);
  const owner = { installation, provider: parsed.data.providerRef.name };
  return [...new Set(listIpAddresses(ranges))]
    .filter((address) => !given.has(address))
    .map((address) => ({ address, mac: reservedMac(owner, address) }));
}
