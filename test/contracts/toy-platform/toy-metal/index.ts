import { definePlatform } from '../../engine/define-platform.ts';
import { describeRejections } from '../../engine/host.ts';
import type { Platform } from '../../engine/platform.ts';
import { done, wait } from '../../engine/step.ts';
import { ToyMetalConfig } from './config.ts';
import { toyInventory } from './hosts.ts';

/** A platform whose servers are folders that users lend, each described by a Host. */
export const toyMetal: Platform = definePlatform({
  name: 'toyMetal',
  config: { schema: ToyMetalConfig, credentialsRef: (config) => config.credentialsRef.name },
  sizes: (config) => config.sizes.map(({ name }) => name),
  check: async () => [],
  provision: [
    {
      name: 'folder-claimed',
      async run({ hosts, node }) {
        const host = await hosts.claim(() => undefined);
        if ('rejected' in host) return wait(60, describeRejections(node.size, host.rejected));
        return done({ folder: host.spec.serverID });
      },
    },
  ],
  release: [
    {
      name: 'folder-released',
      async run({ hosts }) {
        await hosts.release();
        return done();
      },
    },
  ],
  observe: async ({ hosts }) => ({ exists: (await hosts.current()) !== undefined, drift: [] }),
  hosts: toyInventory,
});
