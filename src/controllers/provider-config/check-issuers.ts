import { X509Certificate } from 'node:crypto';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Finding } from '../../engine/platform.ts';
import { invalid } from './finding.ts';

/** Whether an API server could read the authorities of OIDC issuers: one that cannot does not start. */
export function checkIssuers({ access }: ProviderConfigSpec): Finding[] {
  return access.oidcIssuers.flatMap(({ issuer, caBundle }, i) => {
    const message = whyUnreadable(caBundle);
    return message ? [invalid(`access.oidcIssuers[${i}].caBundle`, `Of ${issuer}: ${message}`)] : [];
  });
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function whyUnreadable(bundle: string): string | undefined {
  const found = bundle.match(certificate) ?? [];
  if (/-----BEGIN (?!CERTIFICATE-----)/.test(bundle)) return 'It holds more than certificates. Take the rest out.';
  if (found.length === 0 || !found.every(isReadable))
    return 'It holds no certificate in PEM form, or one that is damaged. Put in what the issuer’s certificate is signed by.';
  return undefined;
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    // What the reader has against it is of no use to people.
    return false;
  }
}
