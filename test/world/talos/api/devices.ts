import { timestampNow } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { Disk_DiskType as DiskType, type StorageService } from '../../../../src/talos/gen/storage_pb.ts';
import type { TimeService } from '../../../../src/talos/gen/time_pb.ts';
import { eraseDisk } from '../disk.ts';
import { deviceName } from '../installer.ts';
import type { Node } from '../node.ts';
import { publishSystemDisk } from '../publish.ts';
import { plain, tooEarly } from './errors.ts';

/** `storage.StorageService`. */
export function storageService(node: Node): Partial<ServiceImpl<typeof StorageService>> {
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
        if (!disk) throw plain(`block device "${device}" not found`);
        if (disk.path === node.systemDisk) throw tooEarly(`block device "${device}" is in use by volume "META"`);
        eraseDisk(disk.path);
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
