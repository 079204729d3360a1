import { SecretString } from '../../lib/secret-string.ts';
import type { SecretsBundle } from './secrets-bundle.ts';

/** What stands for each of them. */
export const placeholderText = 'stand-in';

const secret = new SecretString(placeholderText);
const pair = { certificate: placeholderText, key: secret };

/** Secrets that open nothing, for a configuration that no node will ever get. */
export const placeholderBundle: SecretsBundle = {
  cluster: { id: placeholderText, secret },
  bootstrapToken: secret,
  etcdEncryption: { kind: 'secretbox', key: secret },
  machineToken: secret,
  authorities: { etcd: pair, kubernetes: pair, aggregator: pair, os: pair },
  serviceAccountKey: secret,
};
