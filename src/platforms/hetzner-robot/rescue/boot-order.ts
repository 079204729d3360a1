import { ProviderError } from '../../../lib/errors.ts';
import { HetznerRobotError } from '../error-codes.ts';
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

/** The boot order of the firmware after the change. */
export type BootOrderResult =
  /** The boot order of a BIOS cannot be changed from the operating system. */
  | { readonly firmware: 'bios' }
  | {
      readonly firmware: 'uefi';
      /** Labels of the current entries, first to last. */
      readonly order: readonly string[];
      /** Labels of the removed entries. */
      readonly removed: readonly string[];
      /** False: there is no network entry, so rescue cannot be reached once a disk boots. */
      readonly networkFirst: boolean;
    };

/** A partition that exists now. */
export interface DiskPartition {
  readonly guid: string;
  readonly label: string;
}

/** The changes to make, and the resulting order. */
export interface BootOrderPlan {
  readonly remove: readonly EfiBootMenuEntry[];
  readonly order: readonly string[];
  readonly networkFirst: boolean;
}

/**
 * The rules:
 *
 * 1. An entry is removed when its path names a GPT partition by GUID and no disk has this partition. After a wipe these
 *    are the entries of the former system. They cannot boot, but firmware may hang at one.
 * 2. All other entries stay: network entries in any case, and entries of unknown kinds. Deleting a wrong entry makes a
 *    server unreachable (pitfall 13).
 * 3. Network entries come first, the one of this boot before the others; then entries for a partition named EFI, the
 *    name that Talos uses; then the rest in the former order. An entry that was not in the order is not added, except
 *    network entries.
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

/** Prints one word, because an exit status would not distinguish BIOS from a failed command. */
const firmwareScript = `${shellEnvironment}if test -d /sys/firmware/efi; then echo uefi; else echo bios; fi
`;

const partitionsScript = `${shellEnvironment}lsblk -P -o PARTUUID,PARTLABEL,TYPE
`;

/** `$1`: the order; further arguments: entries to remove. The EFI variables are mounted read-only by default. */
const changeScript = `${shellEnvironment}order=$1
shift
variables=/sys/firmware/efi/efivars
mount -o remount,rw "$variables" || mount -t efivarfs efivarfs "$variables" || exit 1
for entry in "$@"; do efibootmgr -q -b "$entry" -B || exit 1; done
[ -z "$order" ] || efibootmgr -q -o "$order"
`;

/**
 * Puts network entries first and removes entries of missing partitions. Throws RESCUE_BOOT_ORDER_REFUSED when the
 * firmware keeps its own order.
 */
export async function changeBootOrder(session: SshSession): Promise<BootOrderResult> {
  const name = 'boot-order';
  const readMenu = async (): Promise<EfiBootMenu> =>
    parseEfiBootMenu(await session.ask({ name, line: toShellScript(`${shellEnvironment}exec efibootmgr -v`) }));
  const firmware = (await session.ask({ name, line: toShellScript(firmwareScript) })).trim();
  if (firmware === 'bios') return { firmware };
  if (firmware !== 'uefi')
    throw new HetznerRobotError('RESCUE_COMMAND_FAILED', `${name}: the output does not contain the firmware type.`);
  const before = await readMenu();
  const partitions = parseLsblk(await session.ask({ name, line: toShellScript(partitionsScript) }))
    .filter((row) => row['TYPE'] === 'part')
    .map((row) => ({ guid: row['PARTUUID'] ?? '', label: row['PARTLABEL'] ?? '' }));
  const plan = decideBootOrder(before, partitions);
  const remove = plan.remove.map(({ id }) => id);
  const after = isAsPlanned(before, plan)
    ? before
    : await session
        .ask({ name, line: toShellScript(changeScript, plan.order.join(','), ...remove) })
        .then(readMenu, (error: unknown) => {
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
  const detail = cause instanceof Error ? cause.message : `The boot order is still ${order.join(',') || 'empty'}.`;
  return new HetznerRobotError('RESCUE_BOOT_ORDER_REFUSED', detail, { cause });
}
