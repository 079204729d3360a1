import { z } from 'zod';
import type { DiskContent } from '../disks/bootable-system.ts';
import { smartStates } from '../hardware.ts';

const Content: z.ZodType<DiskContent> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('blank') }),
  z.strictObject({
    kind: z.literal('linux'),
    hostname: z.string(),
    authorizedKeys: z.array(z.string()).default([]),
    answersSsh: z.boolean().default(true),
    hetznerBuild: z.boolean().default(false),
  }),
  z.strictObject({ kind: z.literal('raid-member'), array: z.string() }),
  z.strictObject({ kind: z.literal('lvm'), group: z.string() }),
  z.strictObject({ kind: z.literal('ceph') }),
  z.strictObject({
    kind: z.enum(['ext4', 'xfs', 'btrfs', 'swap', 'luks', 'vfat', 'ntfs', 'zfs']),
    label: z.string().exactOptional(),
  }),
  z.strictObject({ kind: z.literal('talos'), version: z.string(), configured: z.boolean() }),
]);

export const DiskSeed = z.strictObject({
  /** Default: the next one of its kind. */
  name: z.string().optional(),
  sizeBytes: z.int().positive().default(512_110_190_592),
  model: z.string().optional(),
  /** Default: derived from the server's number. */
  serial: z.string().optional(),
  /** Default: derived from the serial. Empty: it has none. */
  wwn: z.string().optional(),
  rotational: z.boolean().default(false),
  sectorBytes: z.union([z.literal(512), z.literal(4096)]).default(512),
  bus: z.enum(['nvme', 'sata']).default('nvme'),
  /** Trimmed data can still be read: TRIM is advisory. */
  keepsTrimmed: z.boolean().default(false),
  smart: z.enum(smartStates).default('well'),
  content: Content.default({ kind: 'blank' }),
});
export type DiskSeed = z.infer<typeof DiskSeed>;

export const NicSeed = z.strictObject({
  name: z.string().optional(),
  /** Default: derived from the server's number. */
  mac: z
    .string()
    .regex(/^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/)
    .optional(),
  /** 0: no cable. */
  speedMbps: z.int().nonnegative().default(1000),
});
export type NicSeed = z.infer<typeof NicSeed>;

export const FirmwareSeed = z.strictObject({
  kind: z.enum(['uefi', 'bios']).default('uefi'),
  findsLoaders: z.boolean().default(true),
  /** Default: an entry for each NIC, and one for each disk with a system. */
  entries: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[0-9A-F]{4}$/),
        label: z.string(),
        active: z.boolean().default(true),
        target: z.union([
          z.strictObject({ kind: z.literal('network'), nic: z.string() }),
          z.strictObject({ kind: z.literal('disk'), serial: z.string() }),
        ]),
      }),
    )
    .optional(),
  /** Default: NICs first, as the provider delivers them. */
  order: z.array(z.string()).optional(),
});
export type FirmwareSeed = z.infer<typeof FirmwareSeed>;

/** Behaviours and faults of a mainboard. */
export const BoardSeed = z.strictObject({
  /** Names of disks rotate with each boot. */
  swapsDiskNames: z.boolean().default(false),
  /** Seconds in the rescue system until WWNs exist. */
  udevSeconds: z.number().nonnegative().default(0),
  /** The number of rescue systems that are fetched and never start. */
  lostRescues: z.int().nonnegative().default(0),
  /** Its power-on self test never ends. */
  isDead: z.boolean().default(false),
});
export type BoardBehaviour = z.infer<typeof BoardSeed>;
