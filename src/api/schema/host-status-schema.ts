import { z } from 'zod';
import { progressSchema } from './progress-schema.ts';

const textSchema = z.string();
/** Counts and sizes: more than 2³¹ bytes are usual. */
const countSchema = z.int().min(0);

/** The server as its provider's API describes it. */
export const HostServerSchema = z
  .strictObject({
    address: textSchema.describe('Main address.'),
    ipv6Net: textSchema.describe('Its IPv6 network; empty: it has none.'),
    product: textSchema.describe('What was ordered.'),
    location: textSchema.describe('Where it stands.'),
  })
  .describe('What its provider says of the server.');

const HostDiskSchema = z.strictObject({
  name: textSchema.describe('Name in the system that looked; another one may have other names.'),
  model: textSchema.describe('Model.'),
  serial: textSchema.describe('Serial number; empty: it tells none.'),
  wwn: textSchema.describe('World-wide name; empty: it has none.'),
  sizeBytes: countSchema.describe('Size, in bytes.'),
  type: z.enum(['nvme', 'ssd', 'hdd']).describe('Kind of disk.'),
  holds: z.array(textSchema).describe('What is on it, in words; empty: it is blank.'),
  arrays: z
    .array(textSchema)
    .optional()
    .describe('Serial numbers or world-wide names of other disks that form an array or a volume group with it.'),
  health: z
    .enum(['Passed', 'Failing', 'Unknown'])
    .optional()
    .describe('What it says of itself by SMART; Unknown: it does not say, or could not be asked.'),
  healthMessage: textSchema.optional().describe('What is worth knowing of its health; empty: nothing.'),
  powerOnHours: countSchema.optional().describe('How long it was switched on, in hours.'),
});

const HostNicSchema = z.strictObject({
  name: textSchema.describe('Name in the system that looked.'),
  mac: textSchema.describe('Hardware address.'),
  speedMbps: countSchema.describe('Speed of the link; 0: no cable.'),
});

/** The hardware that the inspection found in the server. */
export const HostHardwareSchema = z
  .strictObject({
    cpu: z
      .strictObject({
        model: textSchema.describe('Model.'),
        threads: countSchema.describe('Threads that it runs at once.'),
      })
      .describe('Processor.'),
    memoryMiB: countSchema.describe('Memory, in MiB.'),
    firmware: z.enum(['uefi', 'bios']).describe('How it boots.'),
    nics: z.array(HostNicSchema).describe('Network cards.'),
    disks: z.array(HostDiskSchema).describe('Disks.'),
    inspectedAt: textSchema.meta({ format: 'date-time' }).describe('Time of the last inspection.'),
  })
  .describe('What was found in the server.');

/** A running task that a user requested with an annotation. */
export const HostTaskSchema = progressSchema(['inspect', 'reboot']).describe(
  'What a person asked for by an annotation, while it is going on.',
);
