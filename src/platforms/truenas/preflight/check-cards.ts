import { z } from 'zod';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import type { TrueNasClient } from '../api/client.ts';
import { NetworkInterface, NicChoices } from '../api/schema.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { describeChoices } from './describe-choices.ts';

/** The interface of a card, and the field that names it. */
interface CardAttachment {
  readonly field: string;
  readonly bridge: string;
  readonly mtu?: number | undefined;
}

const cardAttachmentsOf = ({ bridge, mtu, sizes }: TrueNasConfig): readonly CardAttachment[] => [
  { field: 'truenas.bridge', bridge, mtu },
  ...sizes.flatMap(({ cards = [] }, size) =>
    cards.map((card, index) => ({ ...card, field: `truenas.sizes[${size}].cards[${index}].bridge` })),
  ),
];

/** Checks that the interfaces of all cards exist, are bridges, and support the MTU. */
export async function checkCards(
  nas: TrueNasClient,
  { config }: PlatformContext<TrueNasConfig>,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  const choices = await nas.read('vm.device.nic_attach_choices', [], NicChoices, options);
  const places = cardAttachmentsOf(config);
  const sizes = places.some(({ mtu }) => mtu !== undefined) ? await readMtus(nas, options) : new Map<string, number>();
  return places.flatMap(({ field, bridge, mtu }) => {
    const choice = choices.find(({ name }) => name === bridge);
    if (!choice) {
      const names = describeChoices(
        'interfaces',
        choices.map(({ name }) => name),
      );
      const message = `${nas.host} has no network interface ${bridge} for virtual machines. ${names}`;
      return [{ field, reason: 'BridgeUnknown', message }];
    }
    const carried = sizes.get(bridge) ?? Number.POSITIVE_INFINITY;
    return [
      ...(mtu !== undefined && mtu > carried ? [mtuTooLarge(nas, { field, bridge, mtu }, carried)] : []),
      ...(choice.isBridge ? [] : [notABridge(nas, { field, bridge })]),
    ];
  });
}

async function readMtus(nas: TrueNasClient, options: TrueNasCallOptions): Promise<ReadonlyMap<string, number>> {
  const interfaces = await nas.read('interface.query', [], z.array(NetworkInterface), options);
  return new Map(interfaces.flatMap(({ name, state }) => (state?.mtu ? [[name, state.mtu] as const] : [])));
}

function mtuTooLarge(nas: TrueNasClient, { field, bridge, mtu }: CardAttachment, carried: number): Diagnostic {
  const message = `${bridge} on ${nas.host} has the MTU ${carried}, and the nodes would use ${mtu}. Raise the MTU of the interface and its members, or lower it here.`;
  return { field: field.replace(/bridge$/, 'mtu'), reason: 'MtuTooLarge', message };
}

/** Some users intend this, and others do not expect it, so it is only advice. */
function notABridge(nas: TrueNasClient, { field, bridge }: CardAttachment): Diagnostic {
  const message = `${bridge} is not a bridge: nodes and ${nas.host} cannot reach each other. This is only a problem if they need to.`;
  return { field, reason: 'NoBridge', message, advice: true };
}
