import { z } from 'zod';
import {
  caBundleSchema,
  celValidations,
  credentialsRefSchema,
  sizeNameSchema,
  sizesSchema,
  tlsFingerprintSchema,
} from '../../../engine/config-schemas.ts';
import { loginMechanisms } from '../api/auth/login.ts';
import { bridgeName, cardsField, mtuField } from './cards.ts';
import { cpuFields, evenCpusRule, hasEvenTopology, unevenCpusIssue } from './cpu.ts';
import { disksField } from './disks.ts';
import { displayField } from './display.ts';
import { encryptedField } from './encrypted.ts';
import { furtherPoolsField, zfsPoolName } from './pools.ts';

const plaintextMessage = 'use wss:// or https://: over ws:// or http:// TrueNAS revokes the API key';

const singleTrustAnchorMessage =
  'give either caBundle or tlsFingerprint: one of them has to say which certificate is the right one';

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
    'Address of the TrueNAS system: a host name or IP address, with a port if it is not 443; wss:// or https:// may stand before it. Always over TLS.',
  );

const memoryMiB = z
  .int()
  .min(2048)
  .max(16777216)
  .describe('Memory in MiB. At least 2048, which is what Talos needs on a control plane.');
const diskGiB = z
  .int()
  .min(20)
  .max(65536)
  .describe(
    'Boot disk in GiB, reserved in full. At least 20: smaller ones run out of room for container images. Where it is raised, disks that exist are grown.',
  );

const tpmField = z
  .boolean()
  .describe(
    'Whether machines have a TPM 2.0, which TrueNAS plays. What is sealed with it is lost with the virtual machine. Default: false.',
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
    "The Secret with the keys username and apiKey, in the provider's own namespace. The key must belong to that user, who needs the role FULL_ADMIN: TrueNAS allows uploads to no lesser one.",
  ),
  login: z
    .enum(loginMechanisms)
    .describe(
      'How the API key is used: Plain sends it, over TLS always. Scram only proves that it is known, on both sides, and never sends it; that needs TrueNAS 26. Default: Plain.',
    )
    .optional(),
  caBundle: caBundleSchema('this system'),
  tlsFingerprint: tlsFingerprintSchema("this system's"),
  pool: zfsPoolName.describe('Name of the pool that disks and images are kept in. A pool, not a dataset.'),
  furtherPools: furtherPoolsField,
  bridge: bridgeName.describe(
    'Network interface of the TrueNAS system that nodes are attached to, usually a bridge such as br0. Through anything but a bridge the nodes and the TrueNAS system cannot reach each other.',
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
    .describe('Dataset below the pool that everything is kept under. Made when missing. Default: talos.'),
  sizes: sizesSchema(VmSize, 'The sizes that machines may have.'),
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
  new URL(`https://${systemEndpointOf(config).host}`).hostname.replace(/^\[(.*)\]$/, '$1');

function withoutScheme(url: string): string {
  return url.replace(/^[a-z]+:\/\//, '');
}
