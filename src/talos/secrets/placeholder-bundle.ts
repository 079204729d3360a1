import { SecretString } from '../../lib/secret-string.ts';
import type { SecretsBundle } from './secrets-bundle.ts';

/** The value of every placeholder secret. */
export const placeholderText = 'stand-in';

const secret = new SecretString(placeholderText);
const pair = { certificate: placeholderText, key: secret };

/** Secrets without any use, for a configuration that no node receives. */
export const placeholderBundle: SecretsBundle = {
  cluster: { id: placeholderText, secret },
  bootstrapToken: secret,
  etcdEncryption: { kind: 'secretbox', key: secret },
  machineToken: secret,
  authorities: { etcd: pair, kubernetes: pair, aggregator: pair, os: pair },
  serviceAccountKey: secret,
};
