import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { describeWithTalosctl, describeWithTalosctl114, runTalosctl } from '../../../test/talos/talosctl.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { parsePrivateKey } from './pem.ts';
import { createSecretsBundle, type SecretsBundle } from './secrets-bundle.ts';
import { formatSecretsBundle, parseSecretsBundle } from './secrets-bundle-file.ts';

let bundle: SecretsBundle;
let text: string;

beforeAll(async () => {
  bundle = await exampleSecretsBundle();
  text = formatSecretsBundle(bundle).reveal();
});

describe('a new bundle', () => {
  it.each([
    ['etcd', 'O=etcd', 'ec'],
    ['kubernetes', 'O=kubernetes', 'ec'],
    ['aggregator', undefined, 'ec'],
    ['os', 'O=talos', 'ed25519'],
  ] as const)('has the same %s authority as a bundle from Talos', (name, subject, kind) => {
    const { certificate, key } = bundle.authorities[name];
    const ca = new X509Certificate(certificate);
    expect(ca.ca).toBe(true);
    expect(ca.subject || undefined).toBe(subject);
    expect(ca.verify(ca.publicKey)).toBe(true);
    expect(parsePrivateKey(key).asymmetricKeyType).toBe(kind);
    expect(ca.checkPrivateKey(parsePrivateKey(key))).toBe(true);
    expect(ca.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });

  it('is valid since a day ago, so that a node with a wrong clock accepts it', () => {
    const ca = new X509Certificate(bundle.authorities.os.certificate);
    expect(Date.now() - Date.parse(ca.validFrom)).toBeGreaterThan(23.9 * 3600 * 1000);
    expect(Date.parse(ca.validTo) - Date.now()).toBeGreaterThan(3649 * 24 * 3600 * 1000);
  });

  it('has the key labels that Talos reads and Node does not', () => {
    expect(bundle.authorities.os.key.reveal()).toMatch(/^-----BEGIN ED25519 PRIVATE KEY-----\n/);
    expect(bundle.authorities.etcd.key.reveal()).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
    expect(bundle.serviceAccountKey.reveal()).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
  });

  it('encodes its cluster id for the Talos version, and has a long key for service accounts', async () => {
    const { cluster, serviceAccountKey } = await createSecretsBundle({ now: new Date(), talosVersion: '1.14.0' });
    expect(parsePrivateKey(serviceAccountKey).asymmetricKeyDetails?.modulusLength).toBe(3072);
    expect(Buffer.from(cluster.id, 'base64').toString('base64')).toBe(cluster.id);
    expect(bundle.cluster.id).toMatch(/^[A-Za-z0-9_-]{43}=$/);
  }, 30_000);

  it('shows none of its secrets when it is printed', () => {
    const printed = `${JSON.stringify(bundle)}${String(bundle.machineToken)}`;
    expect(printed).not.toContain('PRIVATE KEY');
    expect(printed).not.toContain(bundle.machineToken.reveal());
    expect(printed).not.toContain(bundle.cluster.secret.reveal());
  });
});

describe('the file of talosctl gen secrets', () => {
  it('is formatted byte for byte as it was parsed', () => {
    expect(formatSecretsBundle(parseSecretsBundle(new SecretString(text))).reveal()).toBe(text);
  });

  it.each([
    ['not YAML at all', () => `a: [${text}`, 'the file'],
    ['no cluster id', () => text.replace(/^ {4}id: .*\n/m, ''), 'cluster.id'],
    ['a short cluster secret', () => text.replace(/^ {4}secret: .*$/m, '    secret: c2hvcnQ='), 'cluster.secret'],
    ['a token of the wrong form', () => text.replace(/^( {4}token: ).*$/m, '$1nonsense'), 'trustdinfo.token'],
    ['a redacted key', () => text.replace(/(os:\n.*\n {8}key: ).*/, '$1"******"'), 'certs.os.key'],
    ['a key that is not Base64', () => text.replace(/(os:\n.*\n {8}key: ).*/, '$1"%%%"'), 'certs.os.key'],
    ['a key of another authority', () => swapKeys(text), 'certs.k8s'],
    [
      'both kinds of encryption',
      () => text.replace('secrets:\n', 'secrets:\n    aescbcencryptionsecret: eA==\n'),
      'secrets',
    ],
    ['a list in place of a text', () => text.replace(/^ {4}id: .*$/m, '    id: [a]'), 'cluster.id'],
  ])('is rejected with its path when it has %s', (_, broken, path) => {
    expect(() => parseSecretsBundle(new SecretString(broken()))).toThrowError(
      expect.objectContaining({ code: 'TALOS_SECRETS_INVALID', message: expect.stringContaining(` ${path} `) }),
    );
  });

  it('is parsed again without loading its keys', () => {
    const again = parseSecretsBundle(new SecretString(text), { isVerified: true });
    expect(formatSecretsBundle(again).reveal()).toBe(text);
    expect(() => parseSecretsBundle(new SecretString(swapKeys(text)), { isVerified: true })).not.toThrow();
  });

  it('is rejected without quoting it', () => {
    try {
      parseSecretsBundle(new SecretString(`a: [${text}`));
      expect.unreachable();
    } catch (error) {
      expect(String((error as Error).stack)).not.toContain(bundle.machineToken.reveal());
    }
  });
});

function swapKeys(source: string): string {
  const etcd = /etcd:\n.*\n {8}key: (.*)/.exec(source)?.[1] ?? '';
  return source.replace(/(k8s:\n.*\n {8}key: ).*/, `$1${etcd}`);
}

const readsAndWritesAgain = (talosctl: string) =>
  it('reads what it writes, and writes it again byte for byte', () => {
    const theirs = runTalosctl(talosctl, ['gen', 'secrets', '-o', 's.yaml'], {}, 's.yaml');
    expect(formatSecretsBundle(parseSecretsBundle(new SecretString(theirs))).reveal()).toBe(theirs);
  }, 30_000);

describeWithTalosctl114(readsAndWritesAgain);

describeWithTalosctl((talosctl) => {
  readsAndWritesAgain(talosctl);

  it('lets talosctl make configurations with our secrets', () => {
    const args = [
      'gen',
      'config',
      'c',
      'https://192.0.2.1:6443',
      '--with-secrets',
      's.yaml',
      '-t',
      'worker',
      '-o',
      '-',
    ];
    const config = runTalosctl(talosctl, args, { 's.yaml': text });
    expect(config).toContain(bundle.machineToken.reveal());
  });
});
