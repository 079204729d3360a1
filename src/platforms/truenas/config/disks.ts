import { z } from 'zod';
import { zfsPoolName } from './pools.ts';

/** Letters of additional VirtIO disks: `vda` is the boot disk. */
const dataDiskLetters = 'bcdefghijklmnopq';

const DataDiskConfig = z.strictObject({
  name: z
    .string()
    .max(32)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
    .describe('Name of the disk, and of the volume that Talos makes on it.'),
  sizeGiB: z
    .int()
    .min(1)
    .max(65536)
    .describe(
      'Size in GiB, reserved in full. Where it is raised, disks that exist are grown; raw ones when that is agreed to.',
    ),
  pool: zfsPoolName
    .describe('Name of the pool that it is kept in, below the same datasetPrefix. Default: that of the machine.')
    .optional(),
  raw: z
    .boolean()
    .default(false)
    .describe(
      'Talos leaves it as it is, for storage that takes whole disks. Default: false, then Talos makes a file system on it and mounts that at /var/mnt/<name>.',
    ),
});

/** `sizes[].disks`: disks beside the boot disk. */
export const disksField = z
  .array(DataDiskConfig)
  .max(dataDiskLetters.length)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
    message: 'two disks have the same name',
  })
  .describe('Disks beside the boot disk, in the order in which they are attached: /dev/vdb, /dev/vdc and so on.')
  .optional();
export type DataDiskConfig = z.infer<typeof DataDiskConfig>;

/** Kernel name of the disk at this index after the boot disk. */
export const dataDiskDeviceAt = (index: number): string => `/dev/vd${dataDiskLetters[index] ?? ''}`;
