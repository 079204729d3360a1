import { parse, stringify } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { KeyPair } from './certificates.ts';
import { fromBase64, isMatchingPair, parsePrivateKey, toBase64 } from './pem.ts';
import type { SecretsBundle } from './secrets-bundle.ts';

/** The text that official tools write in place of a hidden secret. */
const redactedText = '******';
const tokenPattern = /^[0-9a-z]{6}\.[0-9a-z]{16}$/;

/** Formats a bundle as `talosctl gen secrets` does, byte for byte, so that talosctl can take over a cluster. */
export function formatSecretsBundle(bundle: SecretsBundle): SecretString {
  const pair = (authority: KeyPair) => ({
    crt: toBase64(authority.certificate),
    key: toBase64(authority.key.reveal()),
  });
  const { authorities, etcdEncryption } = bundle;
  const document = {
    cluster: { id: bundle.cluster.id, secret: bundle.cluster.secret.reveal() },
    secrets: {
      bootstraptoken: bundle.bootstrapToken.reveal(),
      [`${etcdEncryption.kind}encryptionsecret`]: etcdEncryption.key.reveal(),
    },
    trustdinfo: { token: bundle.machineToken.reveal() },
    certs: {
      etcd: pair(authorities.etcd),
      k8s: pair(authorities.kubernetes),
      k8saggregator: pair(authorities.aggregator),
      k8sserviceaccount: { key: toBase64(bundle.serviceAccountKey.reveal()) },
      os: pair(authorities.os),
    },
  };
  return new SecretString(stringify(document, { indent: 4, lineWidth: 0 }));
}

/**
 * Parses a file of `talosctl gen secrets`. Throws TALOS_SECRETS_INVALID with the path of the wrong value, never with
 * the value. `isVerified`: the same text was parsed before, so that its keys are valid; loading them takes most of the time.
 */
export function parseSecretsBundle(text: SecretString, { isVerified = false } = {}): SecretsBundle {
  const read = createFieldReader(parseYaml(text), isVerified);
  const secretbox = read.optional('secrets.secretboxencryptionsecret');
  const aescbc = read.optional('secrets.aescbcencryptionsecret');
  if ((secretbox === undefined) === (aescbc === undefined)) {
    throw secretsInvalid('secrets', 'needs either secretboxencryptionsecret or aescbcencryptionsecret, and not both');
  }
  return {
    cluster: { id: read.text('cluster.id'), secret: read.key32('cluster.secret') },
    bootstrapToken: read.token('secrets.bootstraptoken'),
    etcdEncryption: secretbox
      ? { kind: 'secretbox', key: read.key32('secrets.secretboxencryptionsecret') }
      : { kind: 'aescbc', key: read.key32('secrets.aescbcencryptionsecret') },
    machineToken: read.token('trustdinfo.token'),
    authorities: {
      etcd: read.authority('certs.etcd'),
      kubernetes: read.authority('certs.k8s'),
      aggregator: read.authority('certs.k8saggregator'),
      os: read.authority('certs.os'),
    },
    serviceAccountKey: read.privateKey('certs.k8sserviceaccount.key'),
  };
}

function parseYaml(text: SecretString): unknown {
  try {
    return parse(text.reveal());
  } catch {
    // The parser's message quotes the line of the error, and that line is a secret.
    throw secretsInvalid('the file', 'is not YAML');
  }
}

/** Reads values by path from the parsed file. Every method throws an error with the path of an invalid value. */
function createFieldReader(document: unknown, isVerified: boolean) {
  const optional = (path: string): string | undefined => findText(document, path);
  const text = (path: string): string => {
    const value = optional(path);
    if (value === undefined) throw secretsInvalid(path, 'is missing');
    return value;
  };
  const pem = (path: string): string => {
    const value = fromBase64(text(path));
    if (value === undefined) throw secretsInvalid(path, 'is not base64');
    return value;
  };
  const privateKey = (path: string): SecretString => {
    const key = new SecretString(pem(path));
    try {
      if (!isVerified) parsePrivateKey(key);
      return key;
    } catch {
      throw secretsInvalid(path, 'is not a private key in PEM form');
    }
  };
  return {
    optional,
    text,
    privateKey,
    token(path: string): SecretString {
      const value = text(path);
      if (!tokenPattern.test(value)) throw secretsInvalid(path, 'is not a token of the form [0-9a-z]{6}.[0-9a-z]{16}');
      return new SecretString(value);
    },
    key32(path: string): SecretString {
      const value = text(path);
      if (Buffer.from(value, 'base64').length !== 32) throw secretsInvalid(path, 'is not base64 of 32 bytes');
      return new SecretString(value);
    },
    authority(path: string): KeyPair {
      const certificate = pem(`${path}.crt`);
      const key = privateKey(`${path}.key`);
      if (!isVerified && !isMatchingPair({ certificate, key }))
        throw secretsInvalid(path, 'has no certificate, or the key of another certificate');
      return { certificate, key };
    },
  };
}

/** Undefined for a missing or empty value. */
function findText(document: unknown, path: string): string | undefined {
  let value = document;
  for (const key of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  }
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw secretsInvalid(path, 'is not a string');
  if (value === redactedText) throw secretsInvalid(path, 'is redacted: export the bundle again with its secrets');
  return value;
}

const secretsInvalid = (path: string, what: string): ProviderError =>
  new ProviderError('TALOS_SECRETS_INVALID', `${path} ${what}.`);
