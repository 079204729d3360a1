import { z } from 'zod';
import { progressSchema } from './progress-schema.ts';

const textSchema = z.string();
/** Counts and sizes: more than 2³¹ bytes are usual. */
const countSchema = z.int().min(0);

/** The server as its provider's API describes it. */
export const HostServerSchema = z
  .strictObject({
    address: textSchema.describe('Main address.'),
    ipv6Net: textSchema.describe('IPv6 network; empty: none.'),
    product: textSchema.describe('Product name.'),
    location: textSchema.describe('Where it stands.'),
  })
  .describe('Data of the server at its provider.');

const HostDiskSchema = z.strictObject({
  name: textSchema.describe('Device name during the inspection. Another system may use other names.'),
  model: textSchema.describe('Model.'),
  serial: textSchema.describe('Serial number; empty: none reported.'),
  wwn: textSchema.describe('World Wide Name; empty: none.'),
  sizeBytes: countSchema.describe('Size, in bytes.'),
  type: z.enum(['nvme', 'ssd', 'hdd']).describe('Kind of disk.'),
  holds: z.array(textSchema).describe('Description of the content; empty: blank.'),
  arrays: z
    .array(textSchema)
    .optional()
    .describe('Serial numbers or World Wide Names of other disks in the same array or volume group.'),
  health: z
    .enum(['Passed', 'Failing', 'Unknown'])
    .optional()
    .describe('SMART health; Unknown: not reported, or not readable.'),
  healthMessage: textSchema.optional().describe('Details of the health; empty: none.'),
  powerOnHours: countSchema.optional().describe('Power-on time, in hours.'),
});

const HostNicSchema = z.strictObject({
  name: textSchema.describe('Device name during the inspection.'),
  mac: textSchema.describe('MAC address.'),
  speedMbps: countSchema.describe('Link speed, in Mbit/s; 0: no link.'),
});

/** The hardware that the inspection found in the server. */
export const HostHardwareSchema = z
  .strictObject({
    cpu: z
      .strictObject({
        model: textSchema.describe('Model.'),
        threads: countSchema.describe('Number of hardware threads.'),
      })
      .describe('Processor.'),
    memoryMiB: countSchema.describe('Memory, in MiB.'),
    firmware: z.enum(['uefi', 'bios']).describe('Firmware type.'),
    nics: z.array(HostNicSchema).describe('Network cards.'),
    disks: z.array(HostDiskSchema).describe('Disks.'),
    inspectedAt: textSchema.meta({ format: 'date-time' }).describe('Time of the last inspection.'),
  })
  .describe('Hardware of the server.');

/** A running task that a user requested with an annotation. */
export const HostTaskSchema = progressSchema(['inspect', 'reboot']).describe(
  'Running task that a user requested with an annotation.',
);
