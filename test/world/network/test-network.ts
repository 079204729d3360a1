import process from 'node:process';

/**
 * The first three octets of a /24 of loopback that no other test process uses at the same time. Test files with a fixed
 * network use 127.42.0.0/16, which is never returned.
 */
export const testNetworkPrefix = `127.41.${process.pid % 256}`;
