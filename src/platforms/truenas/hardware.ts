import type { Facts, NodeHardware } from '../../engine/platform.ts';
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
 * address that was claimed. What others are told of a way out must not lead nodes away from theirs.
 */
export function describeHardware(context: Subject, identity: Identity, disks: readonly DataDisk[]): NodeHardware {
  const { config, facts } = context;
  const volumes = volumesOf(disks);
  const addresses = [`${factOf(context, 'address')}/${facts['prefix']}`];
  const cards = cardsOf(context, identity).map(({ mac, mtu, dhcp }, index) => ({
    ...{ mac, addresses: [], dhcp: dhcp && { routeMetric: 2 * usualMetric + index } },
    ...(mtu === undefined ? {} : { mtu }),
  }));
  const main = { mac: identity.mac, addresses, gateway: factOf(context, 'gateway') };
  return {
    installDisk: '/dev/vda',
    imagePlatform: 'nocloud',
    links: [{ ...main, ...(config.mtu === undefined ? {} : { mtu: config.mtu }) }, ...cards],
    providerId: identity.providerId,
    ...(volumes.length > 0 ? { volumes } : {}),
  };
}
