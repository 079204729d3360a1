import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { check } from './check.ts';
import { endpointOf, RobotConfig } from './config.ts';
import { leadEndpoint } from './failover.ts';
import { inventory } from './inventory.ts';
import { observe } from './observe.ts';
import { preview } from './preview.ts';
import { previewShared } from './preview-shared.ts';
import { unprovenReasons } from './proof.ts';
import { provision } from './provision.ts';
import { release } from './release.ts';

/** Talos nodes as bare servers of Hetzner Robot. What its steps do, need and leave: README.md. */
export const hetznerRobot: Platform = definePlatform({
  name: 'hetznerRobot',
  config: RobotConfig,
  credentialsRef: (config) => config.credentialsRef.name,
  sizes: (config) => config.sizes.map((size) => size.name),
  hosts: (config) => [{ field: 'hetznerRobot.url', host: new URL(config.url).hostname.replace(/^\[(.*)\]$/, '$1') }],
  addressing: (config) => {
    const endpoint = endpointOf(config);
    return {
      pool: config.vswitch ? 'private' : 'none',
      endpoint:
        endpoint === 'failover'
          ? { field: 'hetznerRobot.failoverAddress', host: config.failoverAddress ?? '' }
          : endpoint,
    };
  },
  check,
  provision,
  release,
  unproven: unprovenReasons,
  observe,
  preview,
  previewShared,
  inventory,
  leadEndpoint,
});
