import { Secret } from '../lib/secret.ts';
import type { SecretsBundle } from './secrets.ts';

/** What stands for each of them. */
export const standInText = 'stand-in';

const secret = new Secret(standInText);
const pair = { certificate: standInText, key: secret };

/** Secrets that open nothing, for a configuration that no node will ever get. */
export const standInBundle: SecretsBundle = {
  cluster: { id: standInText, secret },
  bootstrapToken: secret,
  etcdEncryption: { kind: 'secretbox', key: secret },
  machineToken: secret,
  authorities: { etcd: pair, kubernetes: pair, aggregator: pair, os: pair },
  serviceAccountKey: secret,
};
