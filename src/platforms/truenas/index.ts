import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { connectTrueNas } from './api/client.ts';
import { SystemInformer } from './cache/system-informer.ts';
import { readUsage } from './capacity/read-usage.ts';
import { desiredBridgesFact } from './config/cards.ts';
import { hostNameOf } from './config/config.ts';
import { TrueNasSection } from './config/section.ts';
import { systemFailureDomains, systemsOf } from './config/systems.ts';
import { truenasErrorCodes } from './error-codes.ts';
import { findCachedImages } from './garbage/cached-images.ts';
import { findOrphans } from './garbage/find-orphans.ts';
import { findUnneeded } from './garbage/find-unneeded.ts';
import { observe } from './observation/observe.ts';
import { observeAll } from './observation/observe-all.ts';
import { check } from './preflight/check.ts';
import { preflight } from './preflight/preflight.ts';
import { preview, previewHardware } from './preflight/preview.ts';
import { unprovenReasons } from './resources/dataset/absence-proof.ts';
import { reservedMac } from './resources/identity.ts';
import { consoleLinks } from './resources/vm/console-links.ts';
import { hardwareOf } from './resources/vm/node-hardware.ts';
import { hardware } from './steps/hardware/hardware.ts';
import { postJoin } from './steps/post-join/post-join.ts';
import { provision } from './steps/provision/provision.ts';
import { release } from './steps/release/release.ts';
import { cutPower, recover, repair } from './steps/repair/repair.ts';

/** Talos nodes as virtual machines on TrueNAS systems. README.md describes the steps. */
export const truenas: Platform = definePlatform({
  name: 'truenas',
  errorCodes: truenasErrorCodes,
  config: {
    schema: TrueNasSection,
    credentialsRef: (config) => config.credentialsRef.name,
    foreignHosts: (section) =>
      systemsOf(section).map(({ config, path }) => ({ field: `${path}.url`, host: hostNameOf(config) })),
  },
  sizes: (section) => section.sizes.map((size) => size.name),
  check,
  provision,
  release,
  observe,
  failureDomains: systemFailureDomains,
  network: { reservedMac },
  preflight,
  postJoin,
  shortageReasons: ['InsufficientMemory', 'InsufficientDiskSpace'],
  sizeHardware: ({ sizes }, size) => sizes.find(({ name }) => name === size),
  loss: {
    lostReasons: ['TRUENAS_UNREACHABLE', 'TRUENAS_SYSTEM_UNKNOWN', 'SystemChanged'],
    unprovenReasons,
  },
  monitor: { observeAll, listen: (context, listener) => SystemInformer.of(connectTrueNas(context)).listen(listener) },
  preview: { machine: preview, hardware: previewHardware },
  reconfigure: {
    hardware: async (context) =>
      hardwareOf({ ...context, facts: { ...context.facts, ...desiredBridgesFact(context) } }),
  },
  hardware,
  repair: { steps: repair, restartAttempts: 1, recover, cutPower },
  usage: { read: readUsage },
  console: { links: consoleLinks },
  garbage: { sharedResources: findCachedImages, findUnneeded, orphans: { find: findOrphans, remove: release } },
});
