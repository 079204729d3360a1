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

/** The trust that one request asks for, with the defaults of the contract. */
export type DesiredTrust = Omit<TrustEntry, 'requests' | 'ca'> & { readonly clientId: string };

/** A prefix is used unchanged, and an empty one means none. The default is the name with a colon. */
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

/** The fields of DesiredTrust and their names in the request. */
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
 * Settings that no API server accepts, or that would let an issuer impersonate Kubernetes itself, as messages that
 * begin with the field. An API server with invalid settings does not start. `hasUserRules`: the API server supports
 * rules for user names that an issuer must not use, which is so from Talos 1.14 on.
 */
export function validateDesiredTrust(oidc: OidcAccess, { hasUserRules }: { readonly hasUserRules: boolean }): string[] {
  const desired = toDesiredTrust(oidc);
  const fields = Object.entries(trustFieldNames) as [keyof DesiredTrust, string][];
  return fields.flatMap(([key, field]) => {
    const why =
      fieldChecks[key](desired[key]) ??
      (isPrefix(key) ? findSystemPrefixProblem(desired[key], hasUserRules) : undefined);
    return why === undefined ? [] : [`spec.oidc.${field}: ${why}`];
  });
}

const isPrefix = (key: keyof DesiredTrust): boolean => key === 'usernamePrefix' || key === 'groupsPrefix';

function findSystemPrefixProblem(prefix: string, hasUserRules: boolean): string | undefined {
  if (prefix.startsWith(systemPrefix))
    return `The prefix ${systemPrefix} is reserved by Kubernetes. Use another prefix.`;
  if (hasUserRules || !allowsSystemNames(prefix)) return undefined;
  return `Before Talos 1.14 an issuer with the prefix ${JSON.stringify(prefix)} could issue the group system:masters. Use a prefix that system: does not begin with, like "corp:", or a cluster with Talos 1.14.`;
}
