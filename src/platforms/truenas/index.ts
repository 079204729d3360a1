import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { connectTrueNas } from './api/client.ts';
import { hostNameOf } from './config/config.ts';
import { TrueNasSection } from './config/section.ts';
import { systemFailureDomains, systemsOf } from './config/systems.ts';
import { collectSystemGarbage } from './garbage/collect-system-garbage.ts';
import { findOrphans } from './garbage/find-orphans.ts';
import { observe } from './observation/observe.ts';
import { observeAll } from './observation/observe-all.ts';
import { check } from './preflight/check.ts';
import { preflight } from './preflight/preflight.ts';
import { preview, previewHardware } from './preflight/preview.ts';
import { unprovenReasons } from './resources/dataset/absence-proof.ts';
import { reservedMac } from './resources/identity.ts';
import { postJoin } from './steps/post-join/post-join.ts';
import { provision } from './steps/provision/provision.ts';
import { release } from './steps/release/release.ts';
import { cutPower, recover, repair } from './steps/repair/repair.ts';

/** Talos nodes as virtual machines on TrueNAS systems. README.md describes the steps. */
export const truenas: Platform = definePlatform({
  name: 'truenas',
  config: TrueNasSection,
  sites: systemFailureDomains,
  credentialsRef: (config) => config.credentialsRef.name,
  sizes: (section) => section.sizes.map((size) => size.name),
  hosts: (section) =>
    systemsOf(section).map(({ config, path }) => ({ field: `${path}.url`, host: hostNameOf(config) })),
  check,
  foresee: preflight,
  provision,
  settle: postJoin,
  release,
  lostWhen: ['TRUENAS_UNREACHABLE', 'TRUENAS_SYSTEM_UNKNOWN', 'SystemChanged'],
  unproven: unprovenReasons,
  observe,
  glance: observeAll,
  listen: (context, listener) => connectTrueNas(context).onChange(listener),
  mending: { mend: repair, recover, cutPower },
  preview,
  hardware: previewHardware,
  reservedMac,
  tidy: collectSystemGarbage,
  orphans: { find: findOrphans, remove: release },
});
