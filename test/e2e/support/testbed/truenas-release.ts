import { trueNasReleases } from '../../../support/fixtures/truenas-releases.ts';

/** `SWEEP_TRUENAS=26`: everything on this release of TrueNAS. */
export const requestedTrueNasRelease = process.env['SWEEP_TRUENAS'];

/**
 * The release of TrueNAS of a testbed that names none. It depends on the subnet, so that a file is always on the same
 * release and one run covers all of them.
 */
export const trueNasReleaseFor = (subnet: string): string =>
  requestedTrueNasRelease ??
  trueNasReleases[Number(subnet.split('.')[2]) % trueNasReleases.length] ??
  trueNasReleases[0];
