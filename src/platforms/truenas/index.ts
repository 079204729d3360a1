import { definePlatform, type Platform } from '../../engine/platform.ts';
import { check } from './check.ts';
import { hostNameOf, TrueNasConfig } from './config.ts';
import { foresee } from './foresee.ts';
import { observe } from './observe.ts';
import { findOrphans } from './orphans.ts';
import { foreseenHardware, preview } from './preview.ts';
import { provision } from './provision.ts';
import { release } from './release.ts';

/** Talos nodes as virtual machines on a TrueNAS system. What its steps do, need and leave: README.md. */
export const truenas: Platform = definePlatform({
  name: 'truenas',
  config: TrueNasConfig,
  credentialsRef: (config) => config.credentialsRef.name,
  sizes: (config) => config.sizes.map((size) => size.name),
  hosts: (config) => [{ field: 'truenas.url', host: hostNameOf(config) }],
  check,
  foresee,
  provision,
  release,
  observe,
  preview,
  hardware: foreseenHardware,
  orphans: { find: findOrphans, remove: release },
});
