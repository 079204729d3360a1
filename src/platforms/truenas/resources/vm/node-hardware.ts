import { hasDhcpReservation } from '../../../../engine/dhcp-reservation.ts';
import type { NodeHardware, NodeLink } from '../../../../engine/node.ts';
import { instanceTypeOfSize } from '../../../../engine/node-labels.ts';
import type { Facts } from '../../../../engine/step.ts';
import { additionalCardsOf } from '../../config/cards.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { type DataDisk, dataDisksOf, volumesOf } from '../disk/data-disks.ts';
import type { VmIdentity } from '../identity.ts';
import { getFact, machineScopeOf, type TrueNasStepContext } from '../machine-scope.ts';

interface HardwareContext {
  readonly config: TrueNasConfig;
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/** The metric that Talos gives to a route without one. A larger metric has lower priority. */
const defaultRouteMetric = 1024;

/** The hardware of a machine, from its section and the facts of its steps. Makes no calls. */
export const hardwareOf = (context: TrueNasStepContext): NodeHardware =>
  toNodeHardware(context, machineScopeOf(context).identity, dataDisksOf(context));

/**
 * The hardware for the machine configuration: VirtIO disks, the first one for booting, and VirtIO cards, the first one
 * with the claimed address, static or by DHCP. A default route from DHCP on another card must not replace that of the
 * first.
 */
export function toNodeHardware(
  context: HardwareContext,
  identity: VmIdentity,
  disks: readonly DataDisk[],
): NodeHardware {
  const { config, node } = context;
  const size = config.sizes.find(({ name }) => name === node.size);
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
    ...(size ? { instanceType: instanceTypeOfSize(size) } : {}),
    ...(volumes.length > 0 ? { volumes } : {}),
  };
}

function firstLink(context: HardwareContext, { mac }: VmIdentity): NodeLink {
  const address = `${getFact(context, 'address')}/${context.facts['prefix']}`;
  if (hasDhcpReservation(context.facts))
    return { mac, addresses: [], dhcp: { routeMetric: defaultRouteMetric }, reserved: address };
  return { mac, addresses: [address], gateway: getFact(context, 'gateway') };
}
