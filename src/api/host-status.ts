import { z } from 'zod';
import { progressOf } from './progress.ts';

const text = z.string();
/** Counts and sizes: more than 2³¹ bytes are usual. */
const count = z.int().min(0);

/** What its provider says of the server. */
export const Server = z
  .strictObject({
    address: text.describe('Main address.'),
    ipv6Net: text.describe('Its IPv6 network; empty: it has none.'),
    product: text.describe('What was ordered.'),
    location: text.describe('Where it stands.'),
    resetTypes: z.array(text).describe('Ways to reset it that it offers.'),
  })
  .describe('What its provider says of the server.');

const Disk = z.strictObject({
  name: text.describe('Name in the system that looked; another one may have other names.'),
  model: text.describe('Model.'),
  serial: text.describe('Serial number; empty: it tells none.'),
  wwn: text.describe('World-wide name; empty: it has none.'),
  sizeBytes: count.describe('Size, in bytes.'),
  type: z.enum(['nvme', 'ssd', 'hdd']).describe('Kind of disk.'),
  holds: z.array(text).describe('What is on it, in words; empty: it is blank.'),
  arrays: z
    .array(text)
    .optional()
    .describe('Serial numbers or world-wide names of other disks that form an array or a volume group with it.'),
  health: z
    .enum(['Passed', 'Failing', 'Unknown'])
    .optional()
    .describe('What it says of itself by SMART; Unknown: it does not say, or could not be asked.'),
  healthMessage: text.optional().describe('What is worth knowing of its health; empty: nothing.'),
  powerOnHours: count.optional().describe('How long it was switched on, in hours.'),
});

const Nic = z.strictObject({
  name: text.describe('Name in the system that looked.'),
  mac: text.describe('Hardware address.'),
  speedMbps: count.describe('Speed of the link; 0: no cable.'),
});

/** What was found in the server. */
export const Hardware = z
  .strictObject({
    cpu: z
      .strictObject({ model: text.describe('Model.'), threads: count.describe('Threads that it runs at once.') })
      .describe('Processor.'),
    memoryMiB: count.describe('Memory, in MiB.'),
    firmware: z.enum(['uefi', 'bios']).describe('How it boots.'),
    nics: z.array(Nic).describe('Network cards.'),
    disks: z.array(Disk).describe('Disks.'),
    inspectedAt: text.meta({ format: 'date-time' }).describe('When somebody looked.'),
  })
  .describe('What was found in the server.');

/** Something that a person asked for by an annotation, while it is going on. */
export const Task = progressOf(['inspect', 'reboot']).describe(
  'What a person asked for by an annotation, while it is going on.',
);
