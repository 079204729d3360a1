import { timestampNow } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { Disk_DiskType as DiskType, type StorageService } from '../../../../src/talos/gen/storage_pb.ts';
import type { TimeService } from '../../../../src/talos/gen/time_pb.ts';
import { eraseTalosDisk } from '../boot/disk-partitions.ts';
import { deviceName } from '../boot/installer.ts';
import type { TalosNode } from '../node.ts';
import { publishSystemDisk } from '../state/publish-resources.ts';
import { failedPreconditionError, unknownError } from './errors.ts';

/** `storage.StorageService`. */
export function storageService(node: TalosNode): Partial<ServiceImpl<typeof StorageService>> {
  const { disks } = node.machine;
  return {
    disks: () => ({
      messages: [
        {
          disks: disks.map((disk) => ({
            size: BigInt(disk.sizeBytes),
            deviceName: `/dev/${deviceName(disk, disks)}`,
            serial: disk.serial,
            type: disk.bus === 'nvme' ? DiskType.NVME : disk.bus === 'sata' ? DiskType.HDD : DiskType.SSD,
            systemDisk: disk.path === node.systemDisk,
          })),
        },
      ],
    }),
    blockDeviceWipe(request) {
      for (const { device } of request.devices) {
        const disk = disks.find((one) => deviceName(one, disks) === device);
        if (!disk) throw unknownError(`block device "${device}" not found`);
        if (disk.path === node.systemDisk)
          throw failedPreconditionError(`block device "${device}" is in use by volume "META"`);
        eraseTalosDisk(disk.path);
      }
      publishSystemDisk(node);
      return { messages: [{}] };
    },
  };
}

/** `time.TimeService`. */
export function timeService(): Partial<ServiceImpl<typeof TimeService>> {
  const answer = (server: string) => ({
    messages: [{ server, localtime: timestampNow(), remotetime: timestampNow() }],
  });
  return { time: () => answer('time.cloudflare.com'), timeCheck: (request) => answer(request.server) };
}
