import { z } from 'zod';
import { credentialsRefSchema, sizeNameSchema, sizesSchema } from '../../engine/config-schemas.ts';

const ToyMetalSize = z.strictObject({ name: sizeNameSchema });

export const ToyMetalConfig = z
  .strictObject({
    folder: z.string().min(1).max(256).describe('Folder with the folders that Hosts describe.'),
    credentialsRef: credentialsRefSchema('Secret with the key token.'),
    sizes: sizesSchema(ToyMetalSize, 'Sizes of machines. Every Host has each of them.'),
  })
  .describe('A toy platform: a server is a folder.');
export type ToyMetalConfig = z.infer<typeof ToyMetalConfig>;
