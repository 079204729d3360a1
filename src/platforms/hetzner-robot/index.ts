import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { hostOfUrl } from '../../lib/net/ip.ts';
import { endpointModeOf, imageChecksumRule, RobotConfig } from './config.ts';
import { failOverEndpoint } from './endpoint-failover.ts';
import { robotErrorCodes } from './error-codes.ts';
import { inventory } from './hosts/inventory.ts';
import { observe } from './observe.ts';
import { check } from './preflight/check.ts';
import { preview } from './preflight/preview.ts';
import { previewCluster } from './preflight/preview-cluster.ts';
import { describeNodeHardware, providerIdOfServer } from './steps/configure-talos.ts';
import { provision } from './steps/provision.ts';
import { release } from './steps/release.ts';
import { approvableReleaseReasons, deadServerReasons } from './steps/release-proof.ts';
import { repair } from './steps/repair.ts';

/** Talos nodes on dedicated servers of Hetzner Robot. README.md describes the steps. */
export const hetznerRobot: Platform = definePlatform({
  name: 'hetznerRobot',
  errorCodes: robotErrorCodes,
  config: {
    schema: RobotConfig,
    credentialsRef: (config) => config.credentialsRef.name,
    specRules: [imageChecksumRule],
    foreignHosts: (config) => [{ field: 'hetznerRobot.url', host: hostOfUrl(new URL(config.url)) }],
  },
  sizes: (config) => config.sizes.map((size) => size.name),
  check,
  provision,
  release,
  observe,
  network: {
    addressing: (config) => {
      const endpoint = endpointModeOf(config);
      return {
        pool: config.vswitch ? 'private' : 'none',
        endpoint:
          endpoint === 'failover'
            ? { field: 'hetznerRobot.failoverAddress', host: config.failoverAddress ?? '' }
            : endpoint,
      };
    },
  },
  shortageReasons: ['HostShort'],
  providerIdOf: ({ server }) => (server === undefined ? undefined : providerIdOfServer(`${server}`)),
  loss: { unprovenReasons: approvableReleaseReasons, deadReasons: deadServerReasons },
  preview: { machine: preview, cluster: previewCluster },
  hosts: inventory,
  // Each with the next of the reset types that the Host names.
  repair: { steps: repair, restartAttempts: 2 },
  endpoint: { failOver: failOverEndpoint },
  reconfigure: { hardware: describeNodeHardware },
});
