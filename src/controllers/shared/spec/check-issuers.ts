import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { findCaBundleProblem, findIssuerProblem } from '../../../talos/config/machine-config.ts';
import { invalidField } from './invalid-field.ts';

/** Checks the OIDC issuers and their CA certificates as an API server does: with an invalid one it does not start. */
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
