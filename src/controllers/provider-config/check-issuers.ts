import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Finding } from '../../engine/platform.ts';
import { whyNotCaBundle, whyNotIssuer } from '../../talos/machine-config.ts';
import { invalid } from './finding.ts';

/** Whether an API server could read the OIDC issuers and their authorities: one that cannot does not start. */
export function checkIssuers({ access }: ProviderConfigSpec): Finding[] {
  return access.oidcIssuers.flatMap(({ issuer, caBundle }, i) => {
    const field = `access.oidcIssuers[${i}]`;
    const [name, bundle] = [whyNotIssuer(issuer), whyNotCaBundle(caBundle)];
    return [
      ...(name ? [invalid(`${field}.issuer`, name)] : []),
      ...(bundle ? [invalid(`${field}.caBundle`, `Of ${issuer}: ${bundle}`)] : []),
    ];
  });
}
