import type { HostDisk, HostWords, RootDiskHints } from '../../engine/host.ts';

/** What may be done to the disks of a server, or in a sentence why nothing may. */
export type DiskPlan =
  | {
      /** The system goes there. */
      readonly root: HostDisk;
      /** They are erased, the root disk first. Nothing else is ever written to. */
      readonly erase: readonly HostDisk[];
    }
  | { readonly refused: string; readonly reason: 'DiskRefused' | 'DiskFailing' };

const gib = 2 ** 30;
/** Less leaves no room for container images. */
const leastBytes = 20 * gib;

/**
 * Decides which disk becomes the system's and which have to be erased for it. Nothing that people protect is erased, and
 * nothing that others left, unless the Host says `wipe`. Sizes, then serial numbers decide among several. The system does not
 * go to a disk that says it is failing.
 */
export function planDisks(
  words: Pick<HostWords, 'wipe' | 'protectedDisks' | 'rootDisk'>,
  disks: readonly HostDisk[],
): DiskPlan {
  const doubled = disks.find((one) => disks.some((other) => other !== one && sameName(one, other)));
  if (doubled) return refuse(`Two disks call themselves ${nameOf(doubled)}: they cannot be told apart. Remove one.`);
  const isProtected = (disk: HostDisk): boolean => words.protectedDisks.some((name) => isNamed(disk, name));
  const fitting = disks
    .filter((disk) => nameOf(disk) !== '' && !isProtected(disk) && fits(words.rootDisk, disk))
    .sort((a, b) => a.sizeBytes - b.sizeBytes || (nameOf(a) < nameOf(b) ? -1 : 1));
  const [first, ...others] = fitting.filter((disk) => isFree(words, disk)).concat(fitting);
  if (!first)
    return refuse(`None of its disks fits spec.rootDisk (${describeAll(disks)}). Correct it, or spec.protectedDisks.`);
  const isFit = (disk: HostDisk): boolean => words.rootDisk.allowFailing === true || disk.health !== 'Failing';
  // Health never widens what is erased: in place of a failing disk comes only one with nothing of others on it.
  const root = isFit(first) ? first : others.find((disk) => isFit(disk) && (disk.holds.length === 0 || isTalos(disk)));
  if (!root) return refuse(describeFailing(first), 'DiskFailing');
  return planErasure(words, disks, root, isProtected);
}

function planErasure(
  words: Pick<HostWords, 'wipe' | 'rootDisk'>,
  disks: readonly HostDisk[],
  root: HostDisk,
  isProtected: (disk: HostDisk) => boolean,
): DiskPlan {
  const foreign = isTalos(root) ? [] : root.holds;
  const mates = disks.filter((disk) => disk !== root && (root.arrays ?? []).some((name) => isNamed(disk, name)));
  const named = (disk: HostDisk): boolean => words.rootDisk.raidMembers.some((name) => isNamed(disk, name));
  const held = mates.find((mate) => isProtected(mate) || !(words.wipe || named(mate)));
  if (held) {
    return refuse(
      `${show(root)} forms an array with ${show(held)}, which would be lost. Name that in spec.rootDisk.raidMembers, or choose another disk in spec.rootDisk.`,
    );
  }
  if (foreign.length > 0 && !words.wipe && mates.length === 0) {
    return refuse(
      `${show(root)} holds ${foreign.join(', ')}. Set spec.wipe if that may be erased, or choose another disk in spec.rootDisk.`,
    );
  }
  const stale = disks.filter((disk) => disk !== root && !mates.includes(disk) && isTalos(disk));
  const kept = stale.find((disk) => isProtected(disk) || !words.wipe);
  if (kept) {
    return refuse(
      `${show(kept)} holds an earlier Talos, which could be started in place of the new one. Set spec.wipe if it may be erased, or remove it.`,
    );
  }
  const nameless = stale.find((disk) => nameOf(disk) === '');
  if (nameless) {
    return refuse(
      `${show(nameless)} holds an earlier Talos, which could be started in place of the new one, and tells neither a serial number nor a WWN by which it could be erased. Remove it.`,
    );
  }
  return { root, erase: [root, ...mates, ...stale] };
}

type Refusal = Extract<DiskPlan, { refused: string }>;
const refuse = (refused: string, reason: Refusal['reason'] = 'DiskRefused'): Refusal => ({ refused, reason });

const describeFailing = (disk: HostDisk): string =>
  `${show(disk)} would be the root disk and says that it is failing${disk.healthMessage ? ` (${disk.healthMessage})` : ''}. Have Hetzner replace it, or name another disk in spec.rootDisk; to use it all the same, set spec.rootDisk.allowFailing.`;

const isFree = ({ wipe }: Pick<HostWords, 'wipe'>, { holds }: HostDisk): boolean => wipe || holds.length === 0;

/** The partitions of Talos, of which this one is nobody else's. A disk with others beside them is more than Talos. */
const own = /named "(?:EFI|BIOS|BOOT|META|STATE|EPHEMERAL)"/;
const isTalos = ({ holds }: HostDisk): boolean =>
  holds.every((what) => own.test(what)) && holds.some((what) => what.includes('named "META"'));

/** By its serial number, or where it has none by its WWN. */
export const nameOf = ({ serial, wwn }: Pick<HostDisk, 'serial' | 'wwn'>): string => serial || wwn;

const sameName = (a: HostDisk, b: HostDisk): boolean =>
  (a.serial !== '' && a.serial === b.serial) || (a.wwn !== '' && a.wwn === b.wwn);

/** Whether people mean this disk: they copy what some tool showed them. */
export const isNamed = ({ serial, wwn }: Pick<HostDisk, 'serial' | 'wwn'>, name: string): boolean => {
  const wanted = plain(name);
  return wanted !== '' && (plain(serial) === wanted || plain(wwn) === wanted);
};

const plain = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/^(?:0x|wwn-0x|naa\.|nvme-eui\.|eui\.)/, '');

function fits(hints: RootDiskHints, disk: HostDisk): boolean {
  return (
    (hints.serial === undefined || plain(hints.serial) === plain(disk.serial)) &&
    (hints.wwn === undefined || plain(hints.wwn) === plain(disk.wwn)) &&
    (hints.type === undefined || hints.type === disk.type) &&
    disk.sizeBytes >= Math.max(leastBytes, (hints.minSizeGiB ?? 0) * gib) &&
    (hints.maxSizeGiB === undefined || disk.sizeBytes <= hints.maxSizeGiB * gib)
  );
}

/** `EXAMPLE NV960 EX9600000001 (960 GB, nvme)`, as shops and labels count. */
export const show = (disk: HostDisk): string =>
  `${[disk.model, nameOf(disk)].filter((word) => word !== '').join(' ')} (${Math.round(disk.sizeBytes / 1e9)} GB, ${disk.type})`;

const describeAll = (disks: readonly HostDisk[]): string =>
  disks.length === 0 ? 'it has none' : disks.map(show).join('; ');
