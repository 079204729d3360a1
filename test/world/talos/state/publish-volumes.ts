import { readPartition, type TalosPartition } from '../boot/disk-partitions.ts';
import { deviceName } from '../boot/installer.ts';
import type { TalosNode } from '../node.ts';
import { formatSize } from './format-size.ts';
import { bytesField, encodeMessage, numberField } from './protobuf.ts';

const mebibyte = 2 ** 20;
/**
 * The partitions of a disk in order (talos: imager/quirks/partitions.go, layout with a UKI); EPHEMERAL gets the
 * remaining space.
 */
const sizes = { EFI: 2101 * mebibyte, META: mebibyte, STATE: 100 * mebibyte } as const;
/** Both tables of the GPT, and alignment. */
const tableBytes = 2 * mebibyte;

/** Of `VolumeStatus` (talos: resource/definitions/enums/enums.proto). */
const phases = { missing: 2, ready: 6 } as const;
const xfs = 1;

function sizeOf(label: Exclude<TalosPartition, 'BOOT'>, diskBytes: number): number {
  if (label !== 'EPHEMERAL') return sizes[label];
  const taken = Object.values(sizes).reduce((sum, size) => sum + size, tableBytes);
  return Math.max(0, diskBytes - taken);
}

/** The volumes of the system disk. talosctl reads their sizes in the protobuf form only. */
export function publishVolumes(node: TalosNode, disk: TalosNode['machine']['disks'][number]): void {
  const device = `/dev/${deviceName(disk, node.machine.disks)}`;
  (['META', 'STATE', 'EPHEMERAL'] as const).forEach((label, index) => {
    const there = readPartition(disk.path, label) !== undefined;
    const phase = there ? 'ready' : 'missing';
    const hasFiles = there && label !== 'META';
    const location = `${device}${/\d$/.test(device) ? 'p' : ''}${index + 2}`;
    const size = sizeOf(label, disk.sizeBytes);
    const found = { location, partitionIndex: index + 2, parentLocation: device, size, prettySize: formatSize(size) };
    const spec = { phase, type: 'partition', ...(there ? found : {}), ...(hasFiles ? { filesystem: 'xfs' } : {}) };
    const proto = encodeMessage(
      numberField(1, phases[phase]),
      ...(there
        ? [
            bytesField(2, location),
            bytesField(7, device),
            numberField(8, index + 2),
            numberField(9, size),
            bytesField(13, formatSize(size)),
          ]
        : []),
      ...(hasFiles ? [numberField(10, xfs)] : []),
    );
    node.resources.put('runtime', 'VolumeStatuses.block.talos.dev', label, spec, { proto });
  });
}
