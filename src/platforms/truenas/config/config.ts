import { z } from 'zod';
import {
  caBundleSchema,
  celValidations,
  credentialsRefSchema,
  sizeNameSchema,
  sizesSchema,
  tlsFingerprintSchema,
} from '../../../engine/config-schemas.ts';
import { hostOfUrl } from '../../../lib/net/ip.ts';
import { loginMechanisms } from '../api/auth/login.ts';
import { bridgeName, cardsField, mtuField } from './cards.ts';
import { cpuFields, evenCpusRule, hasEvenTopology, unevenCpusIssue } from './cpu.ts';
import { disksField } from './disks.ts';
import { displayField } from './display.ts';
import { encryptedField } from './encrypted.ts';
import { furtherPoolsField, zfsPoolName } from './pools.ts';

const plaintextMessage = 'use wss:// or https://: TrueNAS revokes an API key that is sent over ws:// or http://';

const singleTrustAnchorMessage = 'caBundle and tlsFingerprint exclude each other';

const url = z
  .string()
  .max(300)
  .regex(/^([a-z]+:\/\/)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(\/|\/api\/current\/?)?$/, {
    message: 'must be a host name or address with an optional port, e.g. nas.example.org or wss://nas.example.org:8443',
  })
  .refine((value) => !/^[a-z]+:\/\//.test(value) || /^(wss|https):\/\//.test(value), { message: plaintextMessage })
  .refine((value) => URL.canParse(`https://${withoutScheme(value)}`), { message: 'the port must be at most 65535' })
  .meta(
    celValidations([
      "!self.contains('://') || self.startsWith('wss://') || self.startsWith('https://')",
      `truenas.url: ${plaintextMessage}`,
    ]),
  )
  .describe(
    'Address of the TrueNAS system: a host name or IP address, with an optional port (default 443) and an optional scheme wss:// or https://. Always over TLS.',
  );

const memoryMiB = z
  .int()
  .min(2048)
  .max(16777216)
  .describe('Memory in MiB. At least 2048, the minimum of Talos for control planes.');
const diskGiB = z
  .int()
  .min(20)
  .max(65536)
  .describe(
    'Size of the boot disk in GiB, fully reserved. At least 20, for container images. Existing disks are grown when it is raised.',
  );

const tpmField = z
  .boolean()
  .describe(
    'Whether machines have an emulated TPM 2.0. Data sealed with it is lost with the virtual machine. Default: false.',
  )
  .optional();

const VmSize = z
  .strictObject({
    name: sizeNameSchema,
    ...cpuFields,
    memoryMiB,
    diskGiB,
    disks: disksField,
    cards: cardsField,
    display: displayField,
    tpm: tpmField,
    encrypted: encryptedField,
  })
  .refine(hasEvenTopology, unevenCpusIssue)
  .meta(celValidations(evenCpusRule));

/** The fields that identify a system. */
export const systemFields = {
  url,
  credentialsRef: credentialsRefSchema(
    'Secret in the namespace of the provider, with the keys username and apiKey. The API key must belong to this user. The user needs the role FULL_ADMIN, which TrueNAS requires for uploads.',
  ),
  login: z
    .enum(loginMechanisms)
    .describe(
      'Login with the API key. Plain: the key is sent, over TLS. Scram: mutual authentication without sending the key; needs TrueNAS 26. Default: Plain.',
    )
    .optional(),
  caBundle: caBundleSchema('this system'),
  tlsFingerprint: tlsFingerprintSchema("this system's"),
  pool: zfsPoolName.describe('Name of the pool for disks and images. A pool, not a dataset.'),
  furtherPools: furtherPoolsField,
  bridge: bridgeName.describe(
    'Network interface of the TrueNAS system for the nodes, usually a bridge such as br0. Without a bridge, the nodes and the TrueNAS system cannot reach each other.',
  ),
  mtu: mtuField,
};

export const datasetPrefix = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*(\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/);

/** The fields that all systems of a section share. */
export const sharedFields = {
  datasetPrefix: datasetPrefix
    .default('talos')
    .describe('Parent dataset of all resources, below the pool. Created if missing. Default: talos.'),
  sizes: sizesSchema(VmSize, 'Sizes of machines.'),
};

/** True unless a CA bundle and a fingerprint are both set. */
export const hasSingleTrustAnchor = ({
  caBundle,
  tlsFingerprint,
}: {
  caBundle?: unknown;
  tlsFingerprint?: unknown;
}): boolean => caBundle === undefined || tlsFingerprint === undefined;
export const singleTrustAnchorIssue = { path: ['tlsFingerprint'], message: singleTrustAnchorMessage };
export const singleTrustAnchorRule = [
  '!has(self.caBundle) || !has(self.tlsFingerprint)',
  `truenas.tlsFingerprint: ${singleTrustAnchorMessage}`,
] as const;

/** One system and the sizes of its machines: the configuration that all code but the section itself uses. */
export const TrueNasConfig = z
  .strictObject({ ...systemFields, ...sharedFields })
  .refine(hasSingleTrustAnchor, singleTrustAnchorIssue);
export type TrueNasConfig = z.infer<typeof TrueNasConfig>;
export type VmSize = z.infer<typeof VmSize>;

/** URLs of a system. */
export interface SystemEndpoint {
  /** Host and port, without the port when it is 443, for messages. */
  readonly host: string;
  /** JSON-RPC over WebSocket. */
  readonly socketUrl: string;
  /** Multipart uploads. */
  readonly uploadUrl: string;
}

/** The URLs of the system that `url` names in any of its forms. */
export function systemEndpointOf({ url }: Pick<TrueNasConfig, 'url'>): SystemEndpoint {
  const { host } = new URL(`https://${withoutScheme(url)}`);
  return { host, socketUrl: `wss://${host}/api/current`, uploadUrl: `https://${host}/_upload` };
}

/** Host name or address of the system, without the port. */
export const hostNameOf = (config: Pick<TrueNasConfig, 'url'>): string =>
  hostOfUrl(new URL(`https://${systemEndpointOf(config).host}`));

function withoutScheme(url: string): string {
  return url.replace(/^[a-z]+:\/\//, '');
}
