import type { HostDisk, HostSpecView, RootDiskHints } from '../../../engine/host.ts';

/** Which disks of a server are used and erased, or a sentence why none may be. */
export type DiskPlan =
  | {
      /** Talos is installed on this disk. */
      readonly root: HostDisk;
      /** Disks to erase, the root disk first. No other disk is written to. */
      readonly erase: readonly HostDisk[];
    }
  | { readonly refused: string; readonly reason: 'DiskRefused' | 'DiskFailing' };

const gib = 2 ** 30;
/** A smaller disk has no space for container images. */
const minRootDiskBytes = 20 * gib;

/**
 * Chooses the root disk and the disks that have to be erased for it. A protected disk is never erased. A disk with
 * foreign data is erased only when the Host sets `wipe`. Of several disks the smallest is chosen, then the one with the
 * first serial number. A failing disk is not chosen as root disk.
 */
export function planDisks(
  spec: Pick<HostSpecView, 'wipe' | 'protectedDisks' | 'rootDisk'>,
  disks: readonly HostDisk[],
): DiskPlan {
  const doubled = disks.find((one) => disks.some((other) => other !== one && isSameDisk(one, other)));
  if (doubled)
    return rejectPlan(
      `Two disks have the identifier ${diskIdentifierOf(doubled)} and cannot be distinguished. Remove one.`,
    );
  const isProtected = (disk: HostDisk): boolean =>
    spec.protectedDisks.some((name) => matchesDiskIdentifier(disk, name));
  const fitting = disks
    .filter((disk) => diskIdentifierOf(disk) !== '' && !isProtected(disk) && matchesHints(spec.rootDisk, disk))
    .sort((a, b) => a.sizeBytes - b.sizeBytes || (diskIdentifierOf(a) < diskIdentifierOf(b) ? -1 : 1));
  const [first, ...others] = fitting.filter((disk) => mayErase(spec, disk)).concat(fitting);
  if (!first)
    return rejectPlan(
      `No disk matches spec.rootDisk (${describeDisks(disks)}). Correct spec.rootDisk or spec.protectedDisks.`,
    );
  const isFit = (disk: HostDisk): boolean => spec.rootDisk.allowFailing === true || disk.health !== 'Failing';
  // A failing disk is replaced only by a disk without foreign data, so that health never causes more data to be erased.
  const root = isFit(first)
    ? first
    : others.find((disk) => isFit(disk) && (disk.holds.length === 0 || holdsOnlyTalos(disk)));
  if (!root) return rejectPlan(describeFailingDisk(first), 'DiskFailing');
  return planErasure(spec, disks, root, isProtected);
}

function planErasure(
  spec: Pick<HostSpecView, 'wipe' | 'rootDisk'>,
  disks: readonly HostDisk[],
  root: HostDisk,
  isProtected: (disk: HostDisk) => boolean,
): DiskPlan {
  const foreign = holdsOnlyTalos(root) ? [] : root.holds;
  const arrayMembers = disks.filter(
    (disk) => disk !== root && (root.arrays ?? []).some((name) => matchesDiskIdentifier(disk, name)),
  );
  const named = (disk: HostDisk): boolean =>
    spec.rootDisk.raidMembers.some((name) => matchesDiskIdentifier(disk, name));
  const held = arrayMembers.find((member) => isProtected(member) || !(spec.wipe || named(member)));
  if (held) {
    return rejectPlan(
      `${describeDisk(root)} forms an array with ${describeDisk(held)}, which would be lost. Name the latter in spec.rootDisk.raidMembers, or choose another disk in spec.rootDisk.`,
    );
  }
  if (foreign.length > 0 && !spec.wipe && arrayMembers.length === 0) {
    return rejectPlan(
      `${describeDisk(root)} holds ${foreign.join(', ')}. Set spec.wipe if it may be erased, or choose another disk in spec.rootDisk.`,
    );
  }
  const stale = disks.filter((disk) => disk !== root && !arrayMembers.includes(disk) && holdsOnlyTalos(disk));
  const kept = stale.find((disk) => isProtected(disk) || !spec.wipe);
  if (kept) {
    return rejectPlan(
      `${describeDisk(kept)} holds an earlier Talos installation, which could boot instead of the new one. Set spec.wipe if it may be erased, or remove the disk.`,
    );
  }
  const nameless = stale.find((disk) => diskIdentifierOf(disk) === '');
  if (nameless) {
    return rejectPlan(
      `${describeDisk(nameless)} holds an earlier Talos installation, which could boot instead of the new one, and has neither a serial number nor a WWN to identify it for erasure. Remove the disk.`,
    );
  }
  return { root, erase: [root, ...arrayMembers, ...stale] };
}

type DiskPlanRejection = Extract<DiskPlan, { refused: string }>;
const rejectPlan = (refused: string, reason: DiskPlanRejection['reason'] = 'DiskRefused'): DiskPlanRejection => ({
  refused,
  reason,
});

const describeFailingDisk = (disk: HostDisk): string =>
  `${describeDisk(disk)} would be the root disk and is failing by SMART${disk.healthMessage ? ` (${disk.healthMessage})` : ''}. Have Hetzner replace it, choose another disk in spec.rootDisk, or set spec.rootDisk.allowFailing to use it anyway.`;

const mayErase = ({ wipe }: Pick<HostSpecView, 'wipe'>, { holds }: HostDisk): boolean => wipe || holds.length === 0;

/** True when the disk has Talos partitions only, META among them. Other partitions beside them are foreign data. */
const talosPartitionPattern = /named "(?:EFI|BIOS|BOOT|META|STATE|EPHEMERAL)"/;
const holdsOnlyTalos = ({ holds }: HostDisk): boolean =>
  holds.every((what) => talosPartitionPattern.test(what)) && holds.some((what) => what.includes('named "META"'));

/** The serial number of a disk, or its WWN where it has none. */
export const diskIdentifierOf = ({ serial, wwn }: Pick<HostDisk, 'serial' | 'wwn'>): string => serial || wwn;

const isSameDisk = (a: HostDisk, b: HostDisk): boolean =>
  (a.serial !== '' && a.serial === b.serial) || (a.wwn !== '' && a.wwn === b.wwn);

/** True when the identifier names this disk. People copy it from the output of any tool. */
export const matchesDiskIdentifier = ({ serial, wwn }: Pick<HostDisk, 'serial' | 'wwn'>, name: string): boolean => {
  const wanted = normalizeDiskIdentifier(name);
  return wanted !== '' && (normalizeDiskIdentifier(serial) === wanted || normalizeDiskIdentifier(wwn) === wanted);
};

const normalizeDiskIdentifier = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/^(?:0x|wwn-0x|naa\.|nvme-eui\.|eui\.)/, '');

function matchesHints(hints: RootDiskHints, disk: HostDisk): boolean {
  return (
    (hints.serial === undefined || normalizeDiskIdentifier(hints.serial) === normalizeDiskIdentifier(disk.serial)) &&
    (hints.wwn === undefined || normalizeDiskIdentifier(hints.wwn) === normalizeDiskIdentifier(disk.wwn)) &&
    (hints.type === undefined || hints.type === disk.type) &&
    disk.sizeBytes >= Math.max(minRootDiskBytes, (hints.minSizeGiB ?? 0) * gib) &&
    (hints.maxSizeGiB === undefined || disk.sizeBytes <= hints.maxSizeGiB * gib)
  );
}

/** E.g. `EXAMPLE NV960 EX9600000001 (960 GB, nvme)`, in decimal gigabytes as on labels. */
export const describeDisk = (disk: HostDisk): string =>
  `${[disk.model, diskIdentifierOf(disk)].filter((part) => part !== '').join(' ')} (${Math.round(disk.sizeBytes / 1e9)} GB, ${disk.type})`;

const describeDisks = (disks: readonly HostDisk[]): string =>
  disks.length === 0 ? 'it has none' : disks.map(describeDisk).join('; ');
