import { ProviderError } from '../../../lib/errors.ts';
import {
  type EfiBootMenu,
  type EfiBootMenuEntry,
  isNetworkEntry,
  parseEfiBootMenu,
  partitionGuidOf,
} from './efi-boot-menu.ts';
import { parseLsblk } from './lsblk-pairs.ts';
import { shellEnvironment } from './scripts/common.ts';
import { toShellScript } from './shell-quote.ts';
import type { SshSession } from './ssh-session.ts';

/** What became of the order in which the firmware looks for a system. */
export type BootOrderResult =
  /** A BIOS keeps its order where nobody outside reaches it. */
  | { readonly firmware: 'bios' }
  | {
      readonly firmware: 'uefi';
      /** Labels of the entries, first to last, as they are now. */
      readonly order: readonly string[];
      /** Labels of those that were removed. */
      readonly removed: readonly string[];
      /** False: there is no network entry, and the rescue system cannot be reached once a disk starts. */
      readonly networkFirst: boolean;
    };

/** A partition that is there now. */
export interface DiskPartition {
  readonly guid: string;
  readonly label: string;
}

/** What is to be done, and what it shall look like afterwards. */
export interface BootOrderPlan {
  readonly remove: readonly EfiBootMenuEntry[];
  readonly order: readonly string[];
  readonly networkFirst: boolean;
}

/**
 * The rules, all of them:
 *
 * 1. Removed is an entry whose path names a GPT partition by its GUID, when no disk has a partition with this GUID: after a wipe
 *    these are the entries of what was there. They cannot start anything, but firmware may hang at one.
 * 2. Everything else stays: network entries in any case, and whatever we do not understand. To delete the wrong one makes a
 *    server unreachable (pitfall 13).
 * 3. First come the network entries, the one that this boot came from before all others; then those that lead to a partition
 *    named EFI, which is Talos's own name; then the rest in the order that they had. What was in no order stays in none,
 *    network entries apart.
 */
export function decideBootOrder(menu: EfiBootMenu, partitions: readonly DiskPartition[]): BootOrderPlan {
  const labels = new Map(partitions.map(({ guid, label }) => [guid.toLowerCase(), label]));
  const isStale = (entry: EfiBootMenuEntry): boolean => {
    const guid = partitionGuidOf(entry);
    return guid !== undefined && !isNetworkEntry(entry) && !labels.has(guid);
  };
  const remove = menu.entries.filter(isStale);
  const kept = menu.entries.filter((entry) => !isStale(entry));
  const rankOf = (entry: EfiBootMenuEntry): number => {
    if (isNetworkEntry(entry)) return entry.id === menu.current ? 0 : 1;
    return labels.get(partitionGuidOf(entry) ?? '') === 'EFI' ? 2 : 3;
  };
  const placeOf = ({ id }: EfiBootMenuEntry): number =>
    menu.order.includes(id) ? menu.order.indexOf(id) : menu.order.length;
  const order = kept
    .filter((entry) => menu.order.includes(entry.id) || isNetworkEntry(entry))
    .sort((a, b) => rankOf(a) - rankOf(b) || placeOf(a) - placeOf(b))
    .map(({ id }) => id);
  return { remove, order, networkFirst: kept.some(isNetworkEntry) };
}

/** In a word: that a command failed says nothing about the firmware. */
const firmwareScript = `${shellEnvironment}if test -d /sys/firmware/efi; then echo uefi; else echo bios; fi
`;

const partitionsScript = `${shellEnvironment}lsblk -P -o PARTUUID,PARTLABEL,TYPE
`;

/** `$1`: the order, the rest are entries to remove. The variables of the firmware are mounted for reading only. */
const changeScript = `${shellEnvironment}order=$1
shift
variables=/sys/firmware/efi/efivars
mount -o remount,rw "$variables" || mount -t efivarfs efivarfs "$variables" || exit 1
for entry in "$@"; do efibootmgr -q -b "$entry" -B || exit 1; done
[ -z "$order" ] || efibootmgr -q -o "$order"
`;

/** Puts the network first and removes what leads nowhere. Throws RESCUE_BOOT_ORDER_REFUSED when the firmware keeps its own. */
export async function changeBootOrder(session: SshSession): Promise<BootOrderResult> {
  const name = 'boot-order';
  const look = async (): Promise<EfiBootMenu> =>
    parseEfiBootMenu(await session.ask({ name, line: toShellScript(`${shellEnvironment}exec efibootmgr -v`) }));
  const firmware = (await session.ask({ name, line: toShellScript(firmwareScript) })).trim();
  if (firmware === 'bios') return { firmware };
  if (firmware !== 'uefi')
    throw new ProviderError('RESCUE_COMMAND_FAILED', `${name}: what the firmware is, it did not say.`);
  const before = await look();
  const partitions = parseLsblk(await session.ask({ name, line: toShellScript(partitionsScript) }))
    .filter((row) => row['TYPE'] === 'part')
    .map((row) => ({ guid: row['PARTUUID'] ?? '', label: row['PARTLABEL'] ?? '' }));
  const plan = decideBootOrder(before, partitions);
  const remove = plan.remove.map(({ id }) => id);
  const after = isAsPlanned(before, plan)
    ? before
    : await session
        .ask({ name, line: toShellScript(changeScript, plan.order.join(','), ...remove) })
        .then(look, (error: unknown) => {
          throw toBootOrderError(error);
        });
  if (!isAsPlanned(after, plan)) throw toBootOrderError(undefined, after.order);
  const labelOf = (id: string): string => after.entries.find((entry) => entry.id === id)?.label ?? id;
  return {
    firmware: 'uefi',
    order: after.order.map(labelOf),
    removed: plan.remove.map(({ label }) => label),
    networkFirst: plan.networkFirst,
  };
}

const isAsPlanned = ({ order, entries }: EfiBootMenu, plan: BootOrderPlan): boolean =>
  order.join() === plan.order.join() && !plan.remove.some(({ id }) => entries.some((entry) => entry.id === id));

function toBootOrderError(cause: unknown, order: readonly string[] = []): unknown {
  if (cause instanceof ProviderError && cause.code !== 'RESCUE_COMMAND_FAILED') return cause;
  const detail = cause instanceof Error ? cause.message : `Its order is ${order.join(',') || 'empty'} still.`;
  return new ProviderError('RESCUE_BOOT_ORDER_REFUSED', detail, { cause });
}
