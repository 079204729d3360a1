import { hasDhcpReservation } from '../../../../engine/dhcp-reservation.ts';
import type { Facts, NodeHardware, NodeLink } from '../../../../engine/platform.ts';
import { additionalCardsOf } from '../../config/cards.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { type DataDisk, volumesOf } from '../disk/data-disks.ts';
import type { VmIdentity } from '../identity.ts';
import { getFact } from '../machine-scope.ts';

interface HardwareContext {
  readonly config: TrueNasConfig;
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** What Talos gives a route that names no metric. A larger one counts less. */
const defaultRouteMetric = 1024;

/**
 * What the machine configuration is made for: VirtIO disks, the first to boot from, and VirtIO cards, of which the first has the
 * address that was claimed, or is told it. What others are told of a way out must not lead nodes away from theirs.
 */
export function toNodeHardware(
  context: HardwareContext,
  identity: VmIdentity,
  disks: readonly DataDisk[],
): NodeHardware {
  const { config } = context;
  const volumes = volumesOf(disks);
  const cards = additionalCardsOf(context, identity).map(({ mac, mtu, dhcp }, index) => ({
    ...{ mac, addresses: [], dhcp: dhcp && { routeMetric: 2 * defaultRouteMetric + index } },
    ...(mtu === undefined ? {} : { mtu }),
  }));
  return {
    installDisk: '/dev/vda',
    imagePlatform: 'nocloud',
    links: [{ ...firstLink(context, identity), ...(config.mtu === undefined ? {} : { mtu: config.mtu }) }, ...cards],
    providerId: identity.providerId,
    ...(volumes.length > 0 ? { volumes } : {}),
  };
}

function firstLink(context: HardwareContext, { mac }: VmIdentity): NodeLink {
  const address = `${getFact(context, 'address')}/${context.facts['prefix']}`;
  if (hasDhcpReservation(context.facts))
    return { mac, addresses: [], dhcp: { routeMetric: defaultRouteMetric }, reserved: address };
  return { mac, addresses: [address], gateway: getFact(context, 'gateway') };
}
