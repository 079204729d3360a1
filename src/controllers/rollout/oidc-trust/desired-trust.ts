import type { OidcAccess } from '../../../api/openmcp/types.ts';
import {
  allowsSystemNames,
  findClaimProblem,
  findClientIdProblem,
  findIssuerProblem,
  findPrefixProblem,
  systemPrefix,
} from '../../../talos/config/machine-config.ts';
import type { TrustEntry } from './trust-record.ts';

/** Whom one request wants to be trusted, with what the contract fills in where it says nothing. */
export type DesiredTrust = Omit<TrustEntry, 'requests' | 'ca'> & { readonly clientId: string };

/** A prefix is taken as it is, and an empty one is none; left out it is the name with a colon. */
export function toDesiredTrust(oidc: OidcAccess): DesiredTrust {
  const usual = `${oidc.name}:`;
  return {
    issuer: oidc.issuer,
    clientId: oidc.clientID,
    usernameClaim: oidc.usernameClaim || 'sub',
    usernamePrefix: oidc.usernamePrefix ?? usual,
    groupsClaim: oidc.groupsClaim || 'groups',
    groupsPrefix: oidc.groupsPrefix ?? usual,
  };
}

/** The fields of a wish, and how the request calls them. */
export const trustFieldNames = {
  issuer: 'issuer',
  clientId: 'clientID',
  usernameClaim: 'usernameClaim',
  usernamePrefix: 'usernamePrefix',
  groupsClaim: 'groupsClaim',
  groupsPrefix: 'groupsPrefix',
} as const satisfies Record<keyof DesiredTrust, keyof OidcAccess>;

const fieldChecks = {
  issuer: findIssuerProblem,
  clientId: findClientIdProblem,
  usernameClaim: findClaimProblem,
  usernamePrefix: findPrefixProblem,
  groupsClaim: findClaimProblem,
  groupsPrefix: findPrefixProblem,
} as const satisfies Record<keyof DesiredTrust, (text: string) => string | undefined>;

/**
 * What no API server can be told, or what would let an issuer speak for Kubernetes itself, as sentences that begin with
 * the field. An API server that is told nonsense does not start. `hasUserRules`: the API server can be told which names an
 * issuer may not give, which is so from Talos 1.14 on.
 */
export function validateDesiredTrust(oidc: OidcAccess, { hasUserRules }: { readonly hasUserRules: boolean }): string[] {
  const wish = toDesiredTrust(oidc);
  const fields = Object.entries(trustFieldNames) as [keyof DesiredTrust, string][];
  return fields.flatMap(([key, field]) => {
    const why =
      fieldChecks[key](wish[key]) ?? (isPrefix(key) ? findSystemPrefixProblem(wish[key], hasUserRules) : undefined);
    return why === undefined ? [] : [`spec.oidc.${field}: ${why}`];
  });
}

const isPrefix = (key: keyof DesiredTrust): boolean => key === 'usernamePrefix' || key === 'groupsPrefix';

function findSystemPrefixProblem(prefix: string, hasUserRules: boolean): string | undefined {
  if (prefix.startsWith(systemPrefix))
    return `What begins with ${systemPrefix} is Kubernetes' own. Choose another prefix.`;
  if (hasUserRules || !allowsSystemNames(prefix)) return undefined;
  return `Before Talos 1.14 nothing keeps an issuer with the prefix ${JSON.stringify(prefix)} from naming system:masters. Use one that system: does not begin with, like "corp:", or a cluster with Talos 1.14.`;
}
