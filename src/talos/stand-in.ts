import { Secret } from '../lib/secret.ts';
import type { SecretsBundle } from './secrets.ts';

const secret = new Secret('stand-in');
const pair = { certificate: 'stand-in', key: secret };

/** Secrets that open nothing, for a configuration that no node will ever get. */
export const standInBundle: SecretsBundle = {
  cluster: { id: 'stand-in', secret },
  bootstrapToken: secret,
  etcdEncryption: { kind: 'secretbox', key: secret },
  machineToken: secret,
  authorities: { etcd: pair, kubernetes: pair, aggregator: pair, os: pair },
  serviceAccountKey: secret,
};
