import { trueNasReleases } from '../../../support/fixtures/truenas-releases.ts';

/** `SWEEP_TRUENAS=26`: everything on this release of TrueNAS. */
export const requestedTrueNasRelease = process.env['SWEEP_TRUENAS'];

/**
 * The release of TrueNAS that a stage has if it does not name one: by its network, so that a file is always on the same and
 * one run is on all of them.
 */
export const trueNasReleaseFor = (subnet: string): string =>
  requestedTrueNasRelease ??
  trueNasReleases[Number(subnet.split('.')[2]) % trueNasReleases.length] ??
  trueNasReleases[0];
