import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderAdminKubeconfig } from '../../../test/talos/admin-kubeconfig.ts';
import { renderAdminTalosconfig } from '../../../test/talos/admin-talosconfig.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { describeWithTalosctl, runTalosctl } from '../../../test/talos/talosctl.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { certifyKey, createCertificateAuthority, issueCertificate } from './certificates.ts';
import { issueKubernetesClientCertificate } from './kubernetes-client-certificate.ts';
import { formatPrivateKey, fromBase64, parsePrivateKey, toBase64 } from './pem.ts';
import type { SecretsBundle } from './secrets-bundle.ts';
import { issueTalosClientCertificate } from './talosconfig.ts';

const now = new Date('2026-11-21T12:00:00Z');
const clientAuth = '1.3.6.1.5.5.7.3.2';
const serverAuth = '1.3.6.1.5.5.7.3.1';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

describe('a certificate for the Talos API', () => {
  it('P46: has exactly the usage clientAuth, because apid rejects any other list', async () => {
    const { certificate, key } = await issueTalosClientCertificate(bundle, { now, lifetimeSeconds: 3600 });
    const leaf = new X509Certificate(certificate);
    expect(leaf.keyUsage).toEqual([clientAuth]);
    expect(leaf.subject).toBe('O=os:admin');
    expect(leaf.ca).toBe(false);
    expect(leaf.verify(new X509Certificate(bundle.authorities.os.certificate).publicKey)).toBe(true);
    expect(leaf.checkPrivateKey(parsePrivateKey(key))).toBe(true);
    expect(Date.parse(leaf.validTo)).toBe(now.getTime() + 3600_000);
  });

  it('carries one organisation for each role', async () => {
    const pair = await issueTalosClientCertificate(bundle, {
      now,
      lifetimeSeconds: 60,
      roles: ['os:reader', 'os:etcd:backup'],
    });
    expect(new X509Certificate(pair.certificate).subject.split('\n')).toEqual(['O=os:reader', 'O=os:etcd:backup']);
  });
});

describe('a certificate for Kubernetes', () => {
  it('names user and groups, and is issued by the Kubernetes authority', async () => {
    const options = { now, lifetimeSeconds: 600, user: 'someone', groups: ['a', 'b'] };
    const { certificate, key } = await issueKubernetesClientCertificate(bundle, options);
    const leaf = new X509Certificate(certificate);
    expect(leaf.subject.split('\n')).toEqual(['O=a', 'O=b', 'CN=someone']);
    expect(leaf.keyUsage).toEqual([clientAuth]);
    expect(leaf.verify(new X509Certificate(bundle.authorities.kubernetes.certificate).publicKey)).toBe(true);
    expect(key.reveal()).toContain('EC PRIVATE KEY');
    expect(Date.parse(leaf.validFrom)).toBeLessThan(now.getTime());
  });
});

describe('a server certificate', () => {
  it('is valid for the requested names and addresses, and no other', async () => {
    const request = {
      commonName: 'n1',
      usages: ['server' as const],
      notBefore: now,
      notAfter: new Date(now.getTime() + 1e6),
    };
    const names = { dnsNames: ['n1.example.org'], ipAddresses: ['192.0.2.7', 'fd00::7'] };
    const { certificate } = await issueCertificate(bundle.authorities.os, { ...request, ...names });
    const leaf = new X509Certificate(certificate);
    expect(leaf.keyUsage).toEqual([serverAuth]);
    expect(leaf.checkIP('192.0.2.7')).toBe('192.0.2.7');
    expect(leaf.checkIP('fd00::7')).toBe('fd00::7');
    expect(leaf.checkIP('192.0.2.8')).toBeUndefined();
    expect(leaf.checkHost('n1.example.org')).toBe('n1.example.org');
  });

  it('can be issued for an existing public key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const notAfter = new Date(now.getTime() + 1e6);
    const pem = await certifyKey(bundle.authorities.os, publicKey, { usages: ['server'], notBefore: now, notAfter });
    expect(new X509Certificate(pem).checkPrivateKey(privateKey)).toBe(true);
  });

  it('can be issued by an external authority with a key of another kind', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const own = await createCertificateAuthority({
      keyKind: 'ecdsa-p256',
      notBefore: now,
      notAfter: new Date(now.getTime() + 1e9),
    });
    const certificate = await certifyKey(own, rsa.publicKey, {
      usages: ['client'],
      notBefore: now,
      notAfter: new Date(now.getTime() + 1e8),
    });
    const authority = { certificate, key: formatPrivateKey(rsa.privateKey) };
    const leaf = await issueCertificate(authority, {
      usages: ['client'],
      notBefore: now,
      notAfter: new Date(now.getTime() + 1e7),
    });
    expect(new X509Certificate(leaf.certificate).verify(rsa.publicKey)).toBe(true);
  });
});

describe('keys in PEM form', () => {
  it('can be loaded although Node does not know the label of Talos', () => {
    const text = bundle.authorities.os.key;
    expect(() => createPrivateKey(text.reveal())).toThrow();
    expect(formatPrivateKey(parsePrivateKey(text)).reveal()).toBe(text.reveal());
  });

  it('are distinguished from texts that are not Base64', () => {
    expect(fromBase64(toBase64('a\nb\n'))).toBe('a\nb\n');
    expect(fromBase64('no base64!')).toBeUndefined();
    expect(fromBase64('')).toBeUndefined();
  });
});

describe('the kubeconfig of an administrator', () => {
  it('has the same names and the same subject as the one from Talos', async () => {
    const text = await renderAdminKubeconfig(bundle, {
      now,
      lifetimeSeconds: 3600,
      clusterName: 'c',
      server: 'https://h:6443',
    });
    const config = parse(text.reveal());
    expect(config.contexts).toEqual([
      { name: 'admin@c', context: { cluster: 'c', namespace: 'default', user: 'admin@c' } },
    ]);
    expect(config.clusters[0].cluster.server).toBe('https://h:6443');
    const leaf = new X509Certificate(fromBase64(config.users[0].user['client-certificate-data']) ?? '');
    expect(leaf.subject.split('\n')).toEqual(['O=system:masters', 'CN=admin']);
    expect(fromBase64(config.clusters[0].cluster['certificate-authority-data'])).toBe(
      bundle.authorities.kubernetes.certificate,
    );
    const key = parsePrivateKey(new SecretString(fromBase64(config.users[0].user['client-key-data']) ?? ''));
    expect(createPublicKey(key).equals(leaf.publicKey)).toBe(true);
  });
});

describe('the talosconfig', () => {
  it('names endpoints and nodes, and holds a key that talosctl can read', async () => {
    const options = { now, lifetimeSeconds: 3600, clusterName: 'c', endpoints: ['192.0.2.1'], nodes: ['192.0.2.2'] };
    const config = parse((await renderAdminTalosconfig(bundle, options)).reveal());
    expect(config).toMatchObject({ context: 'c', contexts: { c: { endpoints: ['192.0.2.1'], nodes: ['192.0.2.2'] } } });
    expect(fromBase64(config.contexts.c.key)).toContain('BEGIN ED25519 PRIVATE KEY');
  });
});

describeWithTalosctl((talosctl) => {
  it('accepts our talosconfig and reads our certificate out of it', async () => {
    const options = { now: new Date(), lifetimeSeconds: 7200, clusterName: 'c', endpoints: ['192.0.2.1'] };
    const file = (await renderAdminTalosconfig(bundle, options)).reveal();
    const info = runTalosctl(talosctl, ['config', 'info', '--talosconfig', 'talosconfig'], { talosconfig: file });
    expect(info).toMatch(/Roles:\s+os:admin/);
    expect(info).toMatch(/expires.*(1 hour|2 hours)/i);
  });
});
