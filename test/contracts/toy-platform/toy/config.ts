import { z } from 'zod';
import { credentialsRefSchema, sizeNameSchema, sizesSchema } from '../../engine/config-schemas.ts';

const ToySize = z.strictObject({
  name: sizeNameSchema,
  diskGiB: z.int().min(10).max(100).describe('Size of the disk, in GiB.'),
});

export const ToyConfig = z
  .strictObject({
    folder: z.string().min(1).max(256).describe('Folder with a folder for each machine.'),
    credentialsRef: credentialsRefSchema('Secret with the key token.'),
    sizes: sizesSchema(ToySize, 'Sizes of machines.'),
  })
  .describe('A toy platform: a machine is a folder.');
export type ToyConfig = z.infer<typeof ToyConfig>;
