import type { NodeHardware } from '../../engine/platform.ts';
import type { Identity } from './identity.ts';
import { type Context, factOf } from './system.ts';

/** What the machine configuration is made for: one VirtIO disk and one VirtIO card, with the address that was claimed. */
export function describeHardware(context: Pick<Context, 'facts'>, { mac, providerId }: Identity): NodeHardware {
  const addresses = [`${factOf(context, 'address')}/${context.facts['prefix']}`];
  return {
    installDisk: '/dev/vda',
    imagePlatform: 'nocloud',
    links: [{ mac, addresses, gateway: factOf(context, 'gateway') }],
    providerId,
  };
}
