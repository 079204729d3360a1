import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { LruMap } from '../lib/lru-map.ts';
import { fingerprintPattern } from '../lib/net/certificate-pin.ts';

// The schemas that the sections of platforms share, so that users find the same fields under the same rules.

/** CEL rules of the CRD. The API server rejects a violation with the message. */
export const celValidations = (...all: readonly (readonly [expression: string, message: string])[]) => ({
  'x-kubernetes-validations': all.map(([rule, message]) => ({ rule, message })),
});

/** The Secret with the credentials; `holds` describes its keys. */
export const credentialsRefSchema = (holds: string) =>
  z
    .strictObject({
      name: z
        .string()
        .min(1)
        .max(253)
        .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/)
        .describe('Name of the Secret.'),
    })
    .describe(holds);

/** Certificate authorities for the named server, instead of the public ones. */
export const caBundleSchema = (whom: string) =>
  z
    .string()
    .max(65536)
    .refine((value) => isCertificate(value), { message: 'must contain at least one certificate in PEM format' })
    .describe(`PEM bundle of the CA certificates to trust for ${whom}. Default: the public CAs.`)
    .optional();

/** The fingerprint of the certificate itself, instead of its certificate authority. */
export const tlsFingerprintSchema = (whose: string) =>
  z
    .string()
    .max(120)
    .regex(fingerprintPattern, { message: 'must be a SHA-256 of 64 hexadecimal digits, with or without colons' })
    .describe(
      `SHA-256 fingerprint of ${whose} certificate, as 64 hexadecimal digits, with or without colons. Only this certificate is trusted, regardless of its names and dates. Excludes caBundle.`,
    )
    .optional();

export const sizeNameSchema = z
  .string()
  .max(32)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
  .describe('Name of the size, referenced by controlPlane.size and workerPools[].size.');

/** The machine sizes, by name. */
export const sizesSchema = <T extends z.ZodType<{ readonly name: string }>>(size: T, about: string) =>
  z
    .array(size)
    .min(1)
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe(about);

/** Sections are parsed often, each time with the same few bundles. */
const knownBundles = new LruMap<string, boolean>(64);

function isCertificate(pem: string): boolean {
  const known = knownBundles.get(pem);
  if (known !== undefined) return known;
  const verdict = parsesAsCertificate(pem);
  knownBundles.set(pem, verdict);
  return verdict;
}

function parsesAsCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
