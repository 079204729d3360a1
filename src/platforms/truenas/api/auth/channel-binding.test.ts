import { createHash, X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { issueServingCertificate } from '../../../../../test/world/truenas/protocol/serving-certificate.ts';
import { tlsServerEndPoint } from './channel-binding.ts';

const element = (tag: number, ...parts: Buffer[]): Buffer => {
  const value = Buffer.concat(parts);
  // Two length bytes, as in any real certificate.
  return Buffer.concat([Buffer.from([tag, 0x82, value.length >> 8, value.length & 0xff]), value]);
};
const sequence = (...parts: Buffer[]) => element(0x30, ...parts);
const oid = (hex: string) => Buffer.concat([Buffer.from([6, hex.length / 2]), Buffer.from(hex, 'hex')]);
const nothing = Buffer.from([5, 0]);
/** The parts of a certificate that show its signature algorithm. */
const signedWith = (...algorithm: Buffer[]) =>
  sequence(sequence(Buffer.alloc(0)), sequence(...algorithm), element(3, Buffer.alloc(8)));

const rsa = '2a864886f70d0101';
const ecdsa = '2a8648ce3d04';
const sha2 = '6086480165030402';
const pss = (hash?: string) =>
  signedWith(oid(`${rsa}0a`), hash ? sequence(element(0xa0, sequence(oid(hash), nothing))) : sequence());

it.each([
  ['RSA with MD5', signedWith(oid(`${rsa}04`), nothing), 'sha256'],
  ['RSA with SHA-1', signedWith(oid(`${rsa}05`), nothing), 'sha256'],
  ['RSA with SHA-256', signedWith(oid(`${rsa}0b`), nothing), 'sha256'],
  ['RSA with SHA-384', signedWith(oid(`${rsa}0c`), nothing), 'sha384'],
  ['RSA with SHA-512', signedWith(oid(`${rsa}0d`), nothing), 'sha512'],
  ['ECDSA with SHA-1', signedWith(oid(`${ecdsa}01`)), 'sha256'],
  ['ECDSA with SHA-256', signedWith(oid(`${ecdsa}0302`)), 'sha256'],
  ['ECDSA with SHA-384', signedWith(oid(`${ecdsa}0303`)), 'sha384'],
  ['ECDSA with SHA-512', signedWith(oid(`${ecdsa}0304`)), 'sha512'],
  ['RSASSA-PSS that says nothing', pss(), 'sha256'],
  ['RSASSA-PSS with SHA-1', pss('2b0e03021a'), 'sha256'],
  ['RSASSA-PSS with SHA-384', pss(`${sha2}02`), 'sha384'],
  ['RSASSA-PSS with SHA-512', pss(`${sha2}03`), 'sha512'],
])('T2: a certificate signed by %s is bound by its own hash', (_, certificate, hash) => {
  expect(tlsServerEndPoint(certificate)).toEqual(createHash(hash).update(certificate).digest());
});

it('T2: a real certificate is bound by its own hash', async () => {
  const { cert, hash } = await issueServingCertificate('127.0.0.1', 'test');
  expect(tlsServerEndPoint(new X509Certificate(cert).raw)).toEqual(hash);
});

it.each([
  ['Ed25519, which has no such hash', signedWith(oid('2b6570'))],
  ['something unknown', signedWith(oid(`${rsa}7f`), nothing)],
  ['RSASSA-PSS with something unknown', pss(`${sha2}7f`)],
  ['nothing', Buffer.alloc(0)],
  ['what is cut off', signedWith(oid(`${rsa}0b`), nothing).subarray(0, 12)],
  ['what is no DER', Buffer.from('30803080308000000000', 'hex')],
])('T2: %s has no binding', (_, certificate) => {
  expect(tlsServerEndPoint(certificate)).toBeUndefined();
});
