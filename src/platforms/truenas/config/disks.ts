import { z } from 'zod';
import { zfsPoolName } from './pools.ts';

/** Letters of additional VirtIO disks: `vda` is the boot disk. */
const dataDiskLetters = 'bcdefghijklmnopq';

const DataDiskConfig = z.strictObject({
  name: z
    .string()
    .max(32)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
    .describe('Name of the disk and of its Talos volume.'),
  sizeGiB: z
    .int()
    .min(1)
    .max(65536)
    .describe(
      'Size in GiB, fully reserved. Existing disks are grown when it is raised; raw disks only after approval.',
    ),
  pool: zfsPoolName
    .describe('Name of the pool of the disk, with the same datasetPrefix. Default: the pool of the machine.')
    .optional(),
  raw: z
    .boolean()
    .default(false)
    .describe(
      'Whether the disk stays unformatted, for storage software that uses whole disks. Otherwise Talos formats it and mounts it at /var/mnt/<name>. Default: false.',
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
  .describe('Additional disks, attached in this order as /dev/vdb, /dev/vdc and so on.')
  .optional();
export type DataDiskConfig = z.infer<typeof DataDiskConfig>;

/** Kernel name of the disk at this index after the boot disk. */
export const dataDiskDeviceAt = (index: number): string => `/dev/vd${dataDiskLetters[index] ?? ''}`;
