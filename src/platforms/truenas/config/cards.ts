import { z } from 'zod';
import type { Facts } from '../../../engine/step.ts';

/** Maximum number of cards beside the first. */
export const maxAdditionalCards = 8;

/** Name of a network interface of the system. */
export const bridgeName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]*$/);

/** From the minimum of IPv6 to the maximum of common cards. */
const mtu = z.int().min(1280).max(9216);

/** Field of the first card. */
export const mtuField = mtu
  .describe(
    'MTU of the first network card, in bytes. The interface must support it. Default: 1500, the default of Talos.',
  )
  .optional();

const Card = z.strictObject({
  bridge: bridgeName.describe('Network interface of the TrueNAS system that the card is attached to.'),
  mtu: mtu.describe('MTU of the card, in bytes. Default: 1500.').optional(),
  dhcp: z
    .boolean()
    .describe(
      'Whether nodes use DHCP on the card. Routes from DHCP have lower priority than network.gateway. Default: true.',
    )
    .optional(),
});

/** Field of a size. */
export const cardsField = z
  .array(Card)
  .max(maxAdditionalCards)
  .describe(
    'Additional network cards. The first card is attached to truenas.bridge, has the address of the node, and is the only one for communication between nodes.',
  )
  .optional();

/** An additional network card of a machine. */
export interface AdditionalCard {
  readonly mac: string;
  readonly bridge: string;
  readonly mtu?: number | undefined;
  readonly dhcp: boolean;
}

interface CardsConfig {
  readonly sizes: readonly { readonly name: string; readonly cards?: readonly z.infer<typeof Card>[] | undefined }[];
}

/** The machine that the cards belong to. */
export interface CardsContext {
  readonly config: CardsConfig;
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/**
 * The additional cards of a machine. Their bridges are recorded with its names before anything is created, and again when
 * its hardware was changed: what is recorded is restored by a repair.
 */
export function additionalCardsOf(
  { config, facts, node }: CardsContext,
  { furtherMacs }: { readonly furtherMacs: readonly string[] },
): AdditionalCard[] {
  const described = config.sizes.find(({ name }) => name === node.size)?.cards ?? [];
  const isNew = facts['mac'] === undefined;
  const bridges = isNew ? described.map(({ bridge }) => bridge) : parseBridgesFact(facts);
  return bridges.map((bridge, index) => {
    const card = described[index]?.bridge === bridge ? described[index] : undefined;
    return { mac: furtherMacs[index] ?? '', bridge, mtu: card?.mtu, dhcp: card?.dhcp ?? true };
  });
}

/** The bridges that an existing machine is to have cards at, in the format of the record. None: the empty text. */
export function desiredBridgesFact({ config, facts, node }: CardsContext): { readonly cards: string } {
  const size = config.sizes.find(({ name }) => name === node.size);
  return { cards: size ? (size.cards ?? []).map(({ bridge }) => bridge).join(',') : String(facts['cards'] ?? '') };
}

/** The format of the fact. No interface name contains a comma. */
export const toBridgesFact = (cards: readonly AdditionalCard[]): Facts =>
  cards.length > 0 ? { cards: cards.map(({ bridge }) => bridge).join(',') } : {};

const parseBridgesFact = ({ cards }: Facts): readonly string[] =>
  typeof cards === 'string' && cards !== '' ? cards.split(',') : [];
