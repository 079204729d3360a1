import { z } from 'zod';
import type { Facts } from '../../../engine/platform.ts';
import type { VmIdentity } from '../resources/identity.ts';

/** So many a machine may have beside the first. */
export const maxAdditionalCards = 8;

/** An interface of the system, by its name. */
export const bridgeName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]*$/);

/** At least what IPv6 asks for, at most what cards are made for. */
const mtu = z.int().min(1280).max(9216);

/** Of the first card. */
export const mtuField = mtu
  .describe(
    'Largest packet, in bytes, that nodes send through their first card. The interface has to carry it. Default: what Talos takes, 1500.',
  )
  .optional();

const Card = z.strictObject({
  bridge: bridgeName.describe('Network interface of the TrueNAS system that it is attached to.'),
  mtu: mtu.describe('Largest packet, in bytes, that nodes send through it. Default: 1500.').optional(),
  dhcp: z
    .boolean()
    .describe(
      'Whether nodes ask for an address there. What they are told of routes counts less than network.gateway. Default: true.',
    )
    .optional(),
});

/** Of a size. */
export const cardsField = z
  .array(Card)
  .max(maxAdditionalCards)
  .describe(
    'Network cards beside the first, which hangs at truenas.bridge and has the address of the node. Nodes talk to each other over the first alone.',
  )
  .optional();

/** A card beside the first. */
export interface AdditionalCard {
  readonly mac: string;
  readonly bridge: string;
  readonly mtu?: number | undefined;
  readonly dhcp: boolean;
}

interface CardsConfig {
  readonly sizes: readonly { readonly name: string; readonly cards?: readonly z.infer<typeof Card>[] | undefined }[];
}

/** Whose cards they are. */
export interface CardsContext {
  readonly config: CardsConfig;
  readonly facts: Facts;
  readonly node: { readonly size: string };
}

/**
 * The further cards of a machine. Where they hang was written down with its names before anything was made: a size that says
 * something else since holds for machines that are made afterwards.
 */
export function additionalCardsOf(
  { config, facts, node }: CardsContext,
  { furtherMacs }: Pick<VmIdentity, 'furtherMacs'>,
): AdditionalCard[] {
  const described = config.sizes.find(({ name }) => name === node.size)?.cards ?? [];
  const isNew = facts['mac'] === undefined;
  const bridges = isNew ? described.map(({ bridge }) => bridge) : parseBridgesFact(facts);
  return bridges.map((bridge, index) => {
    const card = described[index]?.bridge === bridge ? described[index] : undefined;
    return { mac: furtherMacs[index] ?? '', bridge, mtu: card?.mtu, dhcp: card?.dhcp ?? true };
  });
}

/** As they are written down: no interface has a comma in its name. */
export const toBridgesFact = (cards: readonly AdditionalCard[]): Facts =>
  cards.length > 0 ? { cards: cards.map(({ bridge }) => bridge).join(',') } : {};

const parseBridgesFact = ({ cards }: Facts): readonly string[] =>
  typeof cards === 'string' && cards !== '' ? cards.split(',') : [];
