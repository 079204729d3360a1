import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { redactText } from './redact-text.ts';

const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const body = pem.split('\n')[1] ?? '';

describe('a text in a bundle', () => {
  it.each([
    ['a private key', `before\n${pem}after`, body],
    ['a private key in JSON', JSON.stringify({ message: pem }), body.slice(0, 20)],
    ['a private key that was cut off', pem.slice(0, 60), body.slice(0, 20)],
    ['a key of Talos', pem.replaceAll('PRIVATE', 'ED25519 PRIVATE'), body],
    ['a key in Base64', `key: ${Buffer.from(pem).toString('base64')}`, Buffer.from(pem).toString('base64').slice(20)],
    ['a token', 'got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln', 'eyJpc3MiOiJrdWJlcm5ldGVzIn0'],
    ['an identity', 'AGE-SECRET-KEY-1QQQQQQQQQQ', '1QQQQQQQQQQ'],
    ['a bootstrap token', 'token abcdef.0123456789abcdef is bad', '0123456789abcdef'],
    ['a login', 'GET https://user:hunter2@mirror.example/v2 failed', 'hunter2'],
    ['a parameter', 'https://join.example/?jointoken=hunter2&x=1', 'hunter2'],
    ['a header', 'authorization: Bearer hunter2', 'hunter2'],
    ['a field', '{"adminPassword":"hunter2","a":1}', 'hunter2'],
    ['a field in an escaped text', String.raw`{"body":"{\"password\":\"hunter2\"}"}`, 'hunter2'],
    ['a variable', 'TS_AUTHKEY=hunter2 started', 'hunter2'],
    ['a sentence', 'password: hunter2', 'hunter2'],
    ['random bytes', `id ${randomBytes(32).toString('base64')}`, ''],
    ['random bytes with two digits', 'id DzGiTq/SaGt+lMoie+ZKe5gygLlrOOvHXz7oilfV/Go=', 'DzGiTq'],
    ['random bytes without a digit', 'id TYmZVtRKSlidhDbtvIWZHxnVGDKcQIGQAXpbhwnLcab=', 'TYmZVt'],
  ])('has no %s', (_, text, secret) => {
    const redacted = redactText(text);
    expect(redacted.hidden).toBeGreaterThan(0);
    if (secret !== '') expect(redacted.text).not.toContain(secret);
  });

  it('has a word in place of each certificate', () => {
    const certificate = '-----BEGIN CERTIFICATE-----\nMIIBa0Zz\n-----END CERTIFICATE-----';
    expect(redactText(`a\n${certificate}\n${certificate}\nb`)).toEqual({
      ...{ text: 'a\n(certificate)\n(certificate)\nb', hidden: 2 },
    });
  });

  it.each([
    'Machine prod-kq3v7xea-cp-0: image-cached: The image is being uploaded.',
    'Secret openmcp-system/nas has no key apiKey.',
    'schematic 376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    'GET /apis/talos.clusters.openmcp.cloud/v1alpha1/providerconfigs?fieldManager=cluster-provider-talos: 403',
    'ValidatingAdmissionPolicyBindingList of RoutingTableWithKubernetesEndpoints',
    '2026-11-27T11:00:00Z 4f9c2f0e-6a0e-4a55-9d0e-6a0e4a559d0e https://192.168.10.20:6443',
  ])('keeps %s', (text) => {
    expect(redactText(text)).toEqual({ text, hidden: 0 });
  });
});
