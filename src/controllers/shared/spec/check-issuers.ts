import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/platform.ts';
import { findCaBundleProblem, findIssuerProblem } from '../../../talos/config/machine-config.ts';
import { invalidField } from './invalid-field.ts';

/** Whether an API server could read the OIDC issuers and their authorities: one that cannot does not start. */
export function checkIssuers({ access }: ProviderConfigSpec): Diagnostic[] {
  return access.oidcIssuers.flatMap(({ issuer, caBundle }, i) => {
    const field = `access.oidcIssuers[${i}]`;
    const [name, bundle] = [findIssuerProblem(issuer), findCaBundleProblem(caBundle)];
    return [
      ...(name ? [invalidField(`${field}.issuer`, name)] : []),
      ...(bundle ? [invalidField(`${field}.caBundle`, `Of ${issuer}: ${bundle}`)] : []),
    ];
  });
}
