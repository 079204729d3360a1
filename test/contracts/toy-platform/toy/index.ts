import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { ToyConfig } from './config.ts';
import { toyErrorCodes } from './error-codes.ts';
import { assertParentFolder } from './machine-folder.ts';
import { observe, provision, release } from './steps.ts';

/** Talos nodes whose machines are folders. */
export const toy: Platform = definePlatform({
  name: 'toy',
  errorCodes: toyErrorCodes,
  config: { schema: ToyConfig, credentialsRef: (config) => config.credentialsRef.name },
  sizes: (config) => config.sizes.map(({ name }) => name),
  check: async ({ config }) => {
    await assertParentFolder(config);
    return [];
  },
  provision,
  release,
  observe,
});
