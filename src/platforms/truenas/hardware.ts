import type { Facts, NodeHardware, NodeLink } from '../../engine/platform.ts';
import { isReserved } from '../../engine/reservation.ts';
import { cardsOf } from './cards.ts';
import type { TrueNasConfig } from './config.ts';
import { type DataDisk, volumesOf } from './data-disks.ts';
import type { Identity } from './identity.ts';
import { factOf } from './system.ts';

interface Subject {
  readonly config: TrueNasConfig;
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** What Talos gives a route that names no metric. A larger one counts less. */
const usualMetric = 1024;

/**
 * What the machine configuration is made for: VirtIO disks, the first to boot from, and VirtIO cards, of which the first has the
 * address that was claimed, or is told it. What others are told of a way out must not lead nodes away from theirs.
 */
export function describeHardware(context: Subject, identity: Identity, disks: readonly DataDisk[]): NodeHardware {
  const { config } = context;
  const volumes = volumesOf(disks);
  const cards = cardsOf(context, identity).map(({ mac, mtu, dhcp }, index) => ({
    ...{ mac, addresses: [], dhcp: dhcp && { routeMetric: 2 * usualMetric + index } },
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

function firstLink(context: Subject, { mac }: Identity): NodeLink {
  const address = `${factOf(context, 'address')}/${context.facts['prefix']}`;
  if (isReserved(context.facts)) return { mac, addresses: [], dhcp: { routeMetric: usualMetric }, reserved: address };
  return { mac, addresses: [address], gateway: factOf(context, 'gateway') };
}
