import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { stringify } from 'yaml';

/**
 * The configuration of another cluster's control plane, as an old disk may still hold it: with lost keys, and an
 * address by DHCP.
 */
export function makeEarlierConfig(): string {
  const authority = makeEncodedAuthority();
  const serviceAccount = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const config = {
    version: 'v1alpha1',
    machine: {
      type: 'controlplane',
      token: 'oldold.0123456789abcdef',
      ca: authority,
      network: { hostname: 'earlier-life' },
      install: { disk: '/dev/sda', wipe: false },
    },
    cluster: {
      id: base64('earlier-life-cluster-id-00000000'),
      secret: base64('earlier-life-cluster-secret-0000'),
      clusterName: 'earlier-life',
      controlPlane: { endpoint: 'https://earlier-life.example:6443' },
      token: 'oldold.fedcba9876543210',
      secretboxEncryptionSecret: base64('00112233445566778899aabbccddeeff'),
      ca: authority,
      aggregatorCA: authority,
      serviceAccount: { key: base64(serviceAccount.export({ format: 'pem', type: 'sec1' }).toString()) },
      etcd: { ca: authority },
      discovery: { enabled: false },
    },
  };
  return stringify(config);
}

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

/** A CA in the form of Talos configurations: base64 of PEM. */
function makeEncodedAuthority(): { readonly crt: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const crt = `-----BEGIN CERTIFICATE-----\n${pemLines(selfSigned(publicKey, privateKey))}\n-----END CERTIFICATE-----\n`;
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  return { crt: base64(crt), key: base64(pem.replaceAll('PRIVATE KEY', 'ED25519 PRIVATE KEY')) };
}

const pemLines = (der: Buffer): string => base64(der).replace(/(.{64})(?=.)/g, '$1\n');

/** Hand-written X.509: every available library is asynchronous, and a disk is filled synchronously. */
function selfSigned(publicKey: KeyObject, privateKey: KeyObject): Buffer {
  const ed25519 = sequence(identifier('2b6570'));
  const name = sequence(der(0x31, sequence(identifier('55040a'), der(0x0c, Buffer.from('talos')))));
  const days = (count: number): Buffer =>
    der(0x18, Buffer.from(new Date(Date.now() + count * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '')));
  const isAuthority = sequence(
    identifier('551d13'),
    der(0x01, Buffer.from([0xff])),
    der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
  );
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ed25519,
    name,
    sequence(days(-1), days(3650)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(isAuthority)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign(null, certificate, privateKey)]);
  return sequence(certificate, ed25519, der(0x03, signature));
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}
