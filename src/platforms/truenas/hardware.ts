import type { NodeHardware } from '../../engine/platform.ts';
import { type DataDisk, volumesOf } from './data-disks.ts';
import type { Identity } from './identity.ts';
import { type Context, factOf } from './system.ts';

/** What the machine configuration is made for: VirtIO disks, the first to boot from, and one VirtIO card, with the address that was claimed. */
export function describeHardware(
  context: Pick<Context, 'facts'>,
  { mac, providerId }: Identity,
  disks: readonly DataDisk[],
): NodeHardware {
  const volumes = volumesOf(disks);
  const addresses = [`${factOf(context, 'address')}/${context.facts['prefix']}`];
  return {
    installDisk: '/dev/vda',
    imagePlatform: 'nocloud',
    links: [{ mac, addresses, gateway: factOf(context, 'gateway') }],
    providerId,
    ...(volumes.length > 0 ? { volumes } : {}),
  };
}
