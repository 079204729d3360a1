import { createHash } from 'node:crypto';
import { btrfs, ext4, luks, ntfs, swap, uuidOf, vfat, xfs } from '../../disk-format/filesystems.ts';
import { encodeGpt, type Piece, partitionTypes } from '../../disk-format/gpt.ts';
import { blueStore, lvmVolume, mdMember, zfs } from '../../disk-format/members.ts';
import { makeSparse, writeAt } from '../../disk-format/sparse-file.ts';
import { writePartition } from '../../talos/disk.ts';
import type { Disk } from '../hardware.ts';
import type { DiskContent } from './content.ts';
import { layLinux } from './linux.ts';
import { makeOldConfig } from './old-talos.ts';

const mebibyte = 2 ** 20;

/** Makes the sparse file of a disk and lays real bytes onto it, each signature where real programs look for it. */
export function fill(disk: Disk, content: DiskContent): void {
  makeSparse(disk.path, disk.sizeBytes);
  if (content.kind === 'talos') layTalos(disk, content);
  else for (const { offset, bytes } of lay(disk, content)) writeAt(disk.path, offset, bytes);
}

function lay(disk: Disk, content: Exclude<DiskContent, { kind: 'talos' }>): Piece[] {
  const { sizeBytes, serial } = disk;
  const identity = {
    label: 'label' in content ? (content.label ?? '') : '',
    uuid: uuidOf(`${serial} ${content.kind}`),
  };
  switch (content.kind) {
    case 'blank':
      return [];
    case 'linux':
      return layLinux(disk, {
        hostname: content.hostname,
        authorizedKeys: content.authorizedKeys ?? [],
        answersSsh: content.answersSsh ?? true,
        hetznerBuild: content.hetznerBuild ?? false,
      });
    case 'raid-member':
      return layRaidMember(disk, content.array);
    case 'lvm':
      return lvmVolume(content.group, identity.uuid, sizeBytes);
    case 'ceph':
      return blueStore(identity.uuid, sizeBytes);
    default:
      return { ext4, xfs, btrfs, swap, luks, vfat, ntfs, zfs }[content.kind](identity, sizeBytes);
  }
}

/**
 * One partition over the disk, one of two halves of a mirror with a file system. Disks with the same array belong together; which half one
 * is follows from its serial.
 */
function layRaidMember({ sizeBytes, sectorBytes, serial }: Disk, array: string): Piece[] {
  const first = mebibyte / sectorBytes;
  const last = Math.floor(sizeBytes / mebibyte - 1) * first - 1;
  const partition = {
    number: 1,
    typeGuid: partitionTypes.linuxRaid,
    guid: uuidOf(`${serial} raid`),
    name: '',
    first,
    last,
  };
  const bytes = (last - first + 1) * sectorBytes;
  const position = (createHash('sha256').update(serial).digest()[0] ?? 0) % 2;
  const member = { name: `rescue:${array}`, arrayUuid: uuidOf(`array ${array}`), level: 1, members: 2, position };
  const inside = [
    ...mdMember(member, bytes),
    ...ext4({ label: '', uuid: uuidOf(`array ${array} data`) }, bytes - mebibyte).map((piece) => ({
      offset: mebibyte + piece.offset,
      bytes: piece.bytes,
    })),
  ];
  return [
    ...encodeGpt({ diskGuid: uuidOf(`${serial} raid disk`), partitions: [partition] }, sizeBytes, sectorBytes),
    ...inside.map((piece) => ({ offset: mebibyte + piece.offset, bytes: piece.bytes })),
  ];
}

function layTalos({ path, serial }: Disk, { version, configured }: Extract<DiskContent, { kind: 'talos' }>): void {
  writePartition(path, 'BOOT', {
    platform: 'metal',
    arch: 'amd64',
    version: version.replace(/^v/, ''),
    schematic: '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    kernelArguments: ['talos.platform=metal'],
    extensions: [],
    firmware: 'any',
  });
  writePartition(path, 'META', { tags: {} });
  if (!configured) return;
  const nodeId = createHash('sha256').update(`${serial} node`).digest('base64url');
  writePartition(path, 'STATE', { nodeId, config: makeOldConfig() });
  writePartition(path, 'EPHEMERAL', {});
}
