import type { HostDisk, HostHardware, HostNic } from '../../../engine/host.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { describeDiskContent } from './disk-content.ts';
import type { LsblkDevice } from './lsblk-device.ts';
import { parseLsblkLine } from './lsblk-pairs.ts';
import { type LabeledLines, labeledValue, labeledValues, parseLabels } from './parse-labels.ts';
import { shellEnvironment } from './scripts/common.ts';
import { parseSmartHealth } from './smart-health.ts';

/** A disk with the fields that only an installation needs. */
export interface InspectedDisk extends HostDisk {
  /** The link below `/dev/disk/by-id` with the serial number in it, which users recognise; empty: there is none. */
  readonly byId: string;
  readonly sectorBytes: number;
  /** Serial numbers (WWNs where there is none) of the other disks of the same array, volume group or pool. */
  readonly arrays: readonly string[];
}

/** The hardware of a server. */
export interface ServerInventory extends Omit<HostHardware, 'disks' | 'inspectedAt'> {
  readonly disks: readonly InspectedDisk[];
}

/**
 * Reads only. Each disk is listed separately, because in one list an array appears below its first member only. WWNs
 * and links can appear late: the script waits until every disk has its link, for 30 s at most (CAPH 92b1286d4).
 *
 * The health of all drives is queried in parallel with everything else, for 30 s in total. A process that hangs in the
 * kernel cannot be killed: the script does not wait for it, and its output goes to a file.
 */
export const inventoryScript = `${shellEnvironment}tries=0
while [ "$tries" -lt 30 ]; do
  udevadm settle --timeout=30
  linked=" $(for link in /dev/disk/by-id/*; do readlink -f "$link"; done | tr '\\n' ' ') "
  missing=
  for disk in $(lsblk -dnpro NAME,TYPE | sed -n 's/ disk$//p'); do
    case $linked in *" $disk "*) ;; *) missing=$disk ;; esac
  done
  [ -n "$missing" ] || break
  tries=$((tries + 1))
  sleep 1
done
disks() { lsblk -dnpro NAME,TYPE | sed -n 's/ disk$//p'; }
reports=$(mktemp -d) || exit 1
for disk in $(disks); do
  report=$reports/$(basename "$disk")
  { timeout -k 5 30 smartctl --json=c -i -H -A "$disk" >"$report"; echo >"$report.whole"; } </dev/null >/dev/null 2>&1 &
done
printf 'cpu %s\\n' "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
printf 'threads %s\\n' "$(nproc)"
printf 'memory %s\\n' "$(sed -n 's/^MemTotal: *//p' /proc/meminfo)"
if [ -d /sys/firmware/efi ]; then echo 'firmware uefi'; else echo 'firmware bios'; fi
for card in /sys/class/net/*; do
  [ -e "$card/device" ] || continue
  speed=0
  if [ "$(cat "$card/carrier" 2>/dev/null)" = 1 ]; then speed=$(cat "$card/speed" 2>/dev/null); fi
  printf 'nic %s %s %s\\n' "$(basename "$card")" "$(cat "$card/address")" "$speed"
done
for link in /dev/disk/by-id/*; do
  [ -b "$link" ] && printf 'link %s %s\\n' "$(readlink -f "$link")" "$link"
done
pvs --noheadings -o pv_name,vg_name 2>/dev/null | while read -r path group; do printf 'volume %s %s\\n' "$path" "$group"; done
for disk in $(disks); do
  printf 'disk %s\\n' "$disk"
  lsblk -P -b -p -o KNAME,TYPE,SIZE,MODEL,SERIAL,WWN,ROTA,TRAN,LOG-SEC,FSTYPE,LABEL,UUID,PARTLABEL,MOUNTPOINT "$disk" | sed 's/^/row /'
  lsblk -nrpo KNAME "$disk" | while read -r path; do
    wipefs --parsable "$path" 2>/dev/null | sed -n "s,^0x.*\\,,signature $path ,p"
  done
done
tries=0
for disk in $(disks); do
  report=$reports/$(basename "$disk")
  while [ ! -e "$report.whole" ] && [ "$tries" -lt 30 ]; do
    tries=$((tries + 1))
    sleep 1
  done
  [ ! -e "$report.whole" ] || printf 'health %s %s\\n' "$disk" "$(tr -d '\\n' <"$report")"
done
rm -rf "$reports"
echo end
`;

/** Throws RESCUE_COMMAND_FAILED for incomplete output. */
export function parseServerInventory(text: string): ServerInventory {
  const lines = parseLabels(text);
  if (lines.at(-1)?.[0] !== 'end')
    throw new HetznerRobotError('RESCUE_COMMAND_FAILED', 'inspect: the answer is not whole.');
  const found: InspectionOutput = {
    trees: toTrees(lines),
    links: labeledPairs(lines, 'link'),
    volumes: labeledPairs(lines, 'volume'),
    reports: new Map(labeledPairs(lines, 'health')),
  };
  return {
    cpu: { model: labeledValue(lines, 'cpu'), threads: toNumber(labeledValue(lines, 'threads')) },
    memoryMiB: Math.round(toNumber(labeledValue(lines, 'memory').replace(/ kB$/, '')) / 1024),
    firmware: labeledValue(lines, 'firmware') === 'uefi' ? 'uefi' : 'bios',
    nics: labeledValues(lines, 'nic').map(toNic),
    disks: [...found.trees].map(([path, rows]) => toDisk(path, rows, found)),
  };
}

type LabeledPairs = readonly (readonly [string, string])[];
type DiskTrees = ReadonlyMap<string, readonly LsblkDevice[]>;
/** All output, by the path of the device. */
interface InspectionOutput {
  readonly trees: DiskTrees;
  readonly links: LabeledPairs;
  readonly volumes: LabeledPairs;
  /** Output of smartctl; absent for drives that did not answer in time. */
  readonly reports: ReadonlyMap<string, string>;
}

function toTrees(lines: LabeledLines): DiskTrees {
  const trees = new Map<string, LsblkDevice[]>();
  let rows: LsblkDevice[] = [];
  const signatures = labeledPairs(lines, 'signature');
  for (const [label, value] of lines) {
    if (label === 'disk') {
      rows = [];
      trees.set(value, rows);
    } else if (label === 'row') {
      const values = parseLsblkLine(value);
      const path = values['KNAME'] ?? '';
      const own = signatures.filter(([of]) => of === path).map(([, type]) => type);
      rows.push({ path, type: values['TYPE'] ?? '', values, signatures: [...new Set(own)] });
    }
  }
  return trees;
}

function toDisk(
  path: string,
  rows: readonly LsblkDevice[],
  { trees, links, volumes, reports }: InspectionOutput,
): InspectedDisk {
  const values = rows.find((row) => row.path === path)?.values ?? {};
  const isNvme = values['TRAN'] === 'nvme' || /\/nvme\d/.test(path);
  const isSpinning = values['ROTA'] === '1';
  const serial = values['SERIAL'] ?? '';
  return {
    name: path.replace(/^\/dev\//, ''),
    model: (values['MODEL'] ?? '').trim(),
    serial,
    wwn: values['WWN'] ?? '',
    sizeBytes: toNumber(values['SIZE'] ?? ''),
    type: isNvme ? 'nvme' : isSpinning ? 'hdd' : 'ssd',
    holds: describeDiskContent(path, rows),
    byId: chooseDiskLink(
      links.filter(([of]) => of === path).map(([, link]) => link),
      serial,
    ),
    sectorBytes: toNumber(values['LOG-SEC'] ?? values['LOG_SEC'] ?? ''),
    arrays: arrayMembers(path, trees, volumes),
    ...parseSmartHealth(reports.get(path)),
  };
}

/**
 * Several links point to one disk, and their order depends on the locale. The link with the serial number can be
 * compared with a label on the drive. The suffix `_1` is the same namespace again.
 */
function chooseDiskLink(links: readonly string[], serial: string): string {
  const sorted = [...links].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  const written = serial.trim().replaceAll(/\s+/g, '_');
  return sorted.find((link) => written !== '' && link.includes(written)) ?? sorted[0] ?? '';
}

/** The arrays, volume groups and multi-device file systems (one UUID on several devices) that a disk is part of. */
function storageGroups(rows: readonly LsblkDevice[], volumes: LabeledPairs): Set<string> {
  const found = new Set<string>();
  for (const { path, type, values } of rows) {
    if (type !== 'disk' && type !== 'part') found.add(path);
    const fileSystem = values['FSTYPE'] ?? '';
    if (['linux_raid_member', 'btrfs', 'zfs_member'].includes(fileSystem) && values['UUID'])
      found.add(`${fileSystem} ${values['UUID']}`);
    for (const [of, group] of volumes) if (of === path && group !== '') found.add(`group ${group}`);
  }
  return found;
}

function arrayMembers(path: string, trees: DiskTrees, volumes: LabeledPairs): string[] {
  const own = storageGroups(trees.get(path) ?? [], volumes);
  return [...trees]
    .filter(([other, rows]) => other !== path && [...storageGroups(rows, volumes)].some((bond) => own.has(bond)))
    .map(([other, rows]) => rows.find((row) => row.path === other)?.values ?? {})
    .map((values) => values['SERIAL'] || values['WWN'] || '')
    .filter((name) => name !== '');
}

function toNic(line: string): HostNic {
  const [name = '', mac = '', speed = ''] = line.split(' ');
  return { name, mac: mac.toLowerCase(), speedMbps: Math.max(0, toNumber(speed)) };
}

/** Text that is not a number counts as 0: a drive that hides its size is never written to. */
const toNumber = (text: string): number => (/^-?\d+$/.test(text.trim()) ? Number(text) : 0);

const labeledPairs = (lines: LabeledLines, label: string): LabeledPairs => labeledValues(lines, label).map(splitOnce);

const splitOnce = (text: string): readonly [string, string] => {
  const at = text.indexOf(' ');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
};
