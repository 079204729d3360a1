import { generateKeyPairSync } from 'node:crypto';
import { stringify } from 'yaml';
import { createSelfSignedAuthority, type TalosAuthority } from '../../../world/talos/certificates/pki.ts';

/**
 * A cluster's secrets, generated without the product's code, so that the product does not verify the simulator with its
 * own output.
 */
export interface TestSecrets {
  readonly os: TestAuthority;
  readonly kubernetes: TestAuthority;
  readonly etcd: TestAuthority;
  readonly aggregator: TestAuthority;
  readonly serviceAccountKey: string;
}

interface TestAuthority {
  readonly authority: TalosAuthority;
  readonly crt: string;
  readonly key: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function authority(subject: string, kind: 'ed25519' | 'p256'): Promise<TestAuthority> {
  const made = await createSelfSignedAuthority(subject, kind);
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', made.key as never)).toString('base64');
  const label = kind === 'ed25519' ? 'ED25519 PRIVATE KEY' : 'PRIVATE KEY';
  const pem = `-----BEGIN ${label}-----\n${pkcs8.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END ${label}-----\n`;
  return { authority: made, crt: base64(made.pem), key: base64(pem) };
}

export async function makeSecrets(): Promise<TestSecrets> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    os: await authority('O=talos', 'ed25519'),
    kubernetes: await authority('O=kubernetes', 'p256'),
    etcd: await authority('O=etcd', 'p256'),
    aggregator: await authority('', 'p256'),
    serviceAccountKey: base64(privateKey.export({ format: 'pem', type: 'pkcs1' }).toString()),
  };
}

export interface ConfigOptions {
  readonly secrets: TestSecrets;
  readonly role: 'controlplane' | 'worker';
  readonly hostname: string;
  readonly mac: string;
  readonly address: string;
  readonly endpoint: string;
  readonly factory: string;
  readonly vip?: string;
  /** Merged into `machine` and `cluster`. */
  readonly machine?: Readonly<Record<string, unknown>>;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly documents?: readonly unknown[];
}

export const schematic = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba';
export const talosVersion = '1.13.9';

/** A machine configuration in the form of Talos 1.13. */
export function makeConfig(options: ConfigOptions): string {
  const { secrets, role } = options;
  const control = role === 'controlplane';
  const pair = (one: TestAuthority, withKey: boolean) => ({ crt: one.crt, key: withKey ? one.key : '' });
  const image = (name: string) => ({ image: `registry.k8s.io/${name}:v1.36.3` });
  const legacy = {
    version: 'v1alpha1',
    machine: {
      type: role,
      token: 'abcdef.0123456789abcdef',
      ca: pair(secrets.os, control),
      certSANs: [],
      kubelet: {
        image: 'ghcr.io/siderolabs/kubelet:v1.36.3',
        extraArgs: { 'provider-id': `world://${options.hostname}` },
      },
      network: {
        interfaces: [
          {
            deviceSelector: { hardwareAddr: options.mac },
            addresses: [`${options.address}/16`],
            ...(options.vip && control ? { vip: { ip: options.vip } } : {}),
          },
        ],
      },
      install: {
        disk: '/dev/vda',
        image: `${options.factory}/nocloud-installer/${schematic}:v${talosVersion}`,
        wipe: false,
      },
      features: { kubePrism: { enabled: true, port: 7445 }, hostDNS: { enabled: true, forwardKubeDNSToHost: true } },
      ...options.machine,
    },
    cluster: {
      id: base64('0123456789abcdef0123456789abcdef'),
      secret: base64('fedcba9876543210fedcba9876543210'),
      clusterName: 'example',
      controlPlane: { endpoint: options.endpoint },
      network: { dnsDomain: 'cluster.local', podSubnets: ['10.244.0.0/16'], serviceSubnets: ['10.96.0.0/12'] },
      token: 'fedcba.fedcba9876543210',
      ca: pair(secrets.kubernetes, control),
      discovery: { enabled: true, registries: { kubernetes: { disabled: true }, service: {} } },
      ...(control
        ? {
            secretboxEncryptionSecret: base64('00112233445566778899aabbccddeeff'),
            aggregatorCA: pair(secrets.aggregator, true),
            serviceAccount: { key: secrets.serviceAccountKey },
            etcd: { ca: pair(secrets.etcd, true) },
            apiServer: image('kube-apiserver'),
            controllerManager: image('kube-controller-manager'),
            scheduler: image('kube-scheduler'),
            proxy: image('kube-proxy'),
          }
        : {}),
      ...options.cluster,
    },
  };
  const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: options.hostname };
  return [legacy, hostname, ...(options.documents ?? [])].map((document) => stringify(document)).join('---\n');
}
