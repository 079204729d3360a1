import process from 'node:process';

/**
 * The first three numbers of a /24 of loopback that no other process of the tests has at the same time. Test files that name a network
 * of their own have it below 127.42.0.0/16, which this one is therefore outside of.
 */
export const testNetworkPrefix = `127.41.${process.pid % 256}`;
