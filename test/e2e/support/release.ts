import { releases } from '../../support/releases.ts';

/** `SWEEP_TRUENAS=26`: everything on this release of TrueNAS. */
export const wishedRelease = process.env['SWEEP_TRUENAS'];

/**
 * The release of TrueNAS that a stage has if it does not name one: by its network, so that a file is always on the same and
 * one run is on all of them.
 */
export const releaseOf = (subnet: string): string =>
  wishedRelease ?? releases[Number(subnet.split('.')[2]) % releases.length] ?? releases[0];
