import { createHash } from 'node:crypto';
import { btrfs, ext4, luks, ntfs, swap, uuidFromText, vfat, xfs } from '../../disk-format/filesystems.ts';
import { encodeGpt, type PlacedBytes, partitionTypes } from '../../disk-format/gpt.ts';
import { makeSparse, writeAt } from '../../disk-format/sparse-file.ts';
import { cephBlueStore, lvmPhysicalVolume, raidMember, zfs } from '../../disk-format/volume-members.ts';
import { writePartition } from '../../talos/boot/disk-partitions.ts';
import type { ServerDisk } from '../hardware.ts';
import type { DiskContent } from './disk-content.ts';
import { makeEarlierConfig } from './earlier-talos-config.ts';
import { encodeLinux } from './linux-disk.ts';

const mebibyte = 2 ** 20;

/** Creates the sparse file of a disk and writes real signatures at the offsets where real programs search for them. */
export function fillDisk(disk: ServerDisk, content: DiskContent): void {
  makeSparse(disk.path, disk.sizeBytes);
  if (content.kind === 'talos') writeTalos(disk, content);
  else for (const { offset, bytes } of encodeContent(disk, content)) writeAt(disk.path, offset, bytes);
}

function encodeContent(disk: ServerDisk, content: Exclude<DiskContent, { kind: 'talos' }>): PlacedBytes[] {
  const { sizeBytes, serial } = disk;
  const identity = {
    label: 'label' in content ? (content.label ?? '') : '',
    uuid: uuidFromText(`${serial} ${content.kind}`),
  };
  switch (content.kind) {
    case 'blank':
      return [];
    case 'linux':
      return encodeLinux(disk, {
        hostname: content.hostname,
        authorizedKeys: content.authorizedKeys ?? [],
        answersSsh: content.answersSsh ?? true,
        hetznerBuild: content.hetznerBuild ?? false,
      });
    case 'raid-member':
      return encodeRaidMember(disk, content.array);
    case 'lvm':
      return lvmPhysicalVolume(content.group, identity.uuid, sizeBytes);
    case 'ceph':
      return cephBlueStore(identity.uuid, sizeBytes);
    default:
      return { ext4, xfs, btrfs, swap, luks, vfat, ntfs, zfs }[content.kind](identity, sizeBytes);
  }
}

/**
 * One partition over the disk: one of two halves of a mirror with a file system. Disks with the same array belong
 * together; the serial decides which half a disk is.
 */
function encodeRaidMember({ sizeBytes, sectorBytes, serial }: ServerDisk, array: string): PlacedBytes[] {
  const first = mebibyte / sectorBytes;
  const last = Math.floor(sizeBytes / mebibyte - 1) * first - 1;
  const partition = {
    number: 1,
    typeGuid: partitionTypes.linuxRaid,
    guid: uuidFromText(`${serial} raid`),
    name: '',
    first,
    last,
  };
  const bytes = (last - first + 1) * sectorBytes;
  const position = (createHash('sha256').update(serial).digest()[0] ?? 0) % 2;
  const member = { name: `rescue:${array}`, arrayUuid: uuidFromText(`array ${array}`), level: 1, members: 2, position };
  const inside = [
    ...raidMember(member, bytes),
    ...ext4({ label: '', uuid: uuidFromText(`array ${array} data`) }, bytes - mebibyte).map((chunk) => ({
      offset: mebibyte + chunk.offset,
      bytes: chunk.bytes,
    })),
  ];
  return [
    ...encodeGpt({ diskGuid: uuidFromText(`${serial} raid disk`), partitions: [partition] }, sizeBytes, sectorBytes),
    ...inside.map((chunk) => ({ offset: mebibyte + chunk.offset, bytes: chunk.bytes })),
  ];
}

function writeTalos(
  { path, serial }: ServerDisk,
  { version, configured }: Extract<DiskContent, { kind: 'talos' }>,
): void {
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
  writePartition(path, 'STATE', { nodeId, config: makeEarlierConfig() });
  writePartition(path, 'EPHEMERAL', {});
}
