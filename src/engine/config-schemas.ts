import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { LruMap } from '../lib/lru-map.ts';
import { fingerprintPattern } from '../lib/net/certificate-pin.ts';

// What the sections of platforms have in common, so that operators find the same fields under the same rules.

/** CEL rules of the CRD: the API server refuses what does not hold, with that sentence. */
export const celValidations = (...all: readonly (readonly [expression: string, message: string])[]) => ({
  'x-kubernetes-validations': all.map(([rule, message]) => ({ rule, message })),
});

/** The Secret with the credentials; `holds` says what has to be in it. */
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

/** Authorities for whoever is spoken to, in place of the public ones. */
export const caBundleSchema = (whom: string) =>
  z
    .string()
    .max(65536)
    .refine((value) => isCertificate(value), { message: 'must hold at least one certificate in PEM form' })
    .describe(`Certificates (PEM) to trust for ${whom}. Default: the public ones.`)
    .optional();

/** The certificate itself, in place of those who vouch for it. */
export const tlsFingerprintSchema = (whose: string) =>
  z
    .string()
    .max(120)
    .regex(fingerprintPattern, { message: 'must be a SHA-256 of 64 hexadecimal digits, with or without colons' })
    .describe(
      `SHA-256 of ${whose} certificate, the only one that is trusted then: neither its name nor its dates count. 64 hexadecimal digits, with or without colons. Not together with caBundle.`,
    )
    .optional();

export const sizeNameSchema = z
  .string()
  .max(32)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
  .describe('Name that controlPlane.size and workerPools[].size refer to.');

/** What machines may be like, by name. */
export const sizesSchema = <T extends z.ZodType<{ readonly name: string }>>(size: T, about: string) =>
  z
    .array(size)
    .min(1)
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe(about);

/** Sections are parsed whenever somebody looks at them, and hold the same few bundles each time. */
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
