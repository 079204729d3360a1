import { definePlatform } from '../../engine/define-platform.ts';
import type { Platform } from '../../engine/platform.ts';
import { check } from './check.ts';
import { connect } from './client.ts';
import { hostNameOf } from './config.ts';
import { foresee } from './foresee.ts';
import { glance } from './glance.ts';
import { reservedMac } from './identity.ts';
import { unprovenReasons } from './made-here.ts';
import { cutPower, mend, recover } from './mend.ts';
import { observe } from './observe.ts';
import { findOrphans } from './orphans.ts';
import { foreseenHardware, preview } from './preview.ts';
import { provision } from './provision.ts';
import { release } from './release.ts';
import { TrueNasSection } from './section.ts';
import { settle } from './settle.ts';
import { systemSites, systemsOf } from './systems.ts';
import { tidy } from './tidy.ts';

/** Talos nodes as virtual machines on TrueNAS systems. What its steps do, need and leave: README.md. */
export const truenas: Platform = definePlatform({
  name: 'truenas',
  config: TrueNasSection,
  sites: systemSites,
  credentialsRef: (config) => config.credentialsRef.name,
  sizes: (section) => section.sizes.map((size) => size.name),
  hosts: (section) =>
    systemsOf(section).map(({ config, path }) => ({ field: `${path}.url`, host: hostNameOf(config) })),
  check,
  foresee,
  provision,
  settle,
  release,
  lostWhen: ['TRUENAS_UNREACHABLE', 'TRUENAS_SYSTEM_UNKNOWN', 'SystemChanged'],
  unproven: unprovenReasons,
  observe,
  glance,
  listen: (context, listener) => connect(context).onChange(listener),
  mending: { mend, recover, cutPower },
  preview,
  hardware: foreseenHardware,
  reservedMac,
  tidy,
  orphans: { find: findOrphans, remove: release },
});
