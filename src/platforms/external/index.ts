import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { ExternalConfig, externalSize } from './config.ts';
import { observe, provision, release } from './steps.ts';

/** Nodes that others have made. Their hardware is not known, and nothing is done to it. */
export const external: Platform = definePlatform({
  name: 'external',
  managedBy: ({ managedBy }) => managedBy,
  config: { schema: ExternalConfig, credentialsRef: () => undefined },
  sizes: () => [externalSize],
  network: { addressing: () => ({ pool: 'none', endpoint: 'first-node' }) },
  check: async () => [],
  provision,
  release,
  observe,
});
