import { definePlatform, type Platform } from '../../engine/platform.ts';
import { TrueNasConfig } from './config.ts';

/** Talos nodes as virtual machines on a TrueNAS system. What its steps do, need and leave: README.md. */
export const truenas: Platform = definePlatform({
  name: 'truenas',
  config: TrueNasConfig,
  credentialsRef: (config) => config.credentialsRef.name,
  sizes: (config) => config.sizes.map((size) => size.name),
  check: async () => [],
  provision: [],
  release: [],
  observe: async () => ({ exists: false }),
});
