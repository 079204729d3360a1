import { generateKeyPairSync } from 'node:crypto';
import { stringify } from 'yaml';
import { createKubeAuthority } from '../../kube/auth/certificates.ts';

// Before any disk is filled, which is synchronous.
const { cert, key } = await createKubeAuthority('earlier-life');

/**
 * The configuration of another cluster's control plane, as an old disk may still hold it: with lost keys, and an
 * address by DHCP.
 */
export function makeEarlierConfig(): string {
  const authority = { crt: base64(cert), key: base64(key) };
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
