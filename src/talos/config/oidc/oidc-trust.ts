import { hashNames } from '../../../lib/hash.ts';
import type { ConfigDocument } from '../config-document.ts';

/**
 * An OIDC issuer whose tokens the API servers of a cluster accept, and the mapping of its claims to users and groups.
 */
export interface OidcTrust {
  /** The issuer URL, as in the tokens. */
  readonly issuer: string;
  /** The accepted audiences: a token needs one of them. */
  readonly clientIds: readonly string[];
  readonly usernameClaim: string;
  /** Prefix of every username. Empty: none. */
  readonly usernamePrefix: string;
  readonly groupsClaim: string;
  /** Prefix of every group name. Empty: none. */
  readonly groupsPrefix: string;
  /**
   * PEM of the authorities for the issuer's certificate. Absent: the authorities that the API server trusts by default.
   */
  readonly ca?: string;
}

/**
 * The folder for the authorities of issuers on nodes before Talos 1.14. A configuration can create files only under
 * `/var`.
 */
export const issuerCaFolder = '/var/lib/oidc-authorities';

/** The name is derived from the content: a file on a node never changes. */
export const issuerCaPath = (ca: string): string => `${issuerCaFolder}/${issuerCaId(ca)}.crt`;

/** Eight characters that identify a bundle of authorities. */
export const issuerCaId = (ca: string): string => hashNames(ca.trim());

/**
 * All algorithms that kube-apiserver supports. By default it accepts only the first with arguments, and all of them
 * with a file.
 */
export const signingAlgorithms = 'RS256,RS384,RS512,ES256,ES384,ES512,PS256,PS384,PS512';

/** The value for "no prefix": with an empty one kube-apiserver uses the issuer's URL. */
const noPrefix = '-';

/**
 * The field that cannot be passed as an argument of kube-apiserver, if any. A user prefix of a single dash means no
 * prefix there, and the kubelet expands `$` in the arguments of a Pod.
 */
export function findFieldUnfitForArguments(trust: OidcTrust): keyof OidcTrust | undefined {
  if (trust.usernamePrefix === noPrefix) return 'usernamePrefix';
  const fields = ['issuer', 'usernameClaim', 'usernamePrefix', 'groupsClaim', 'groupsPrefix'] as const;
  if (trust.clientIds.some((id) => id.includes('$'))) return 'clientIds';
  return fields.find((field) => trust[field].includes('$'));
}

/** Trust in one issuer as arguments of kube-apiserver; empty without an issuer. */
export function toOidcArguments(trust: OidcTrust | undefined): Record<string, string> {
  if (!trust) return {};
  return {
    'oidc-issuer-url': trust.issuer,
    'oidc-client-id': trust.clientIds[0] ?? '',
    'oidc-username-claim': trust.usernameClaim,
    'oidc-username-prefix': trust.usernamePrefix || noPrefix,
    'oidc-groups-claim': trust.groupsClaim,
    ...(trust.groupsPrefix ? { 'oidc-groups-prefix': trust.groupsPrefix } : {}),
    'oidc-signing-algs': signingAlgorithms,
    ...(trust.ca === undefined ? {} : { 'oidc-ca-file': issuerCaPath(trust.ca) }),
  };
}

/** Trust in any number of issuers, as `jwt` of kube-apiserver's AuthenticationConfiguration. */
export const toJwtAuthenticators = (trust: readonly OidcTrust[]): ConfigDocument[] =>
  trust.map((one) => ({
    issuer: {
      url: one.issuer,
      ...(one.ca === undefined ? {} : { certificateAuthority: one.ca }),
      audiences: [...one.clientIds],
      audienceMatchPolicy: 'MatchAny',
    },
    claimMappings: {
      username: { claim: one.usernameClaim, prefix: one.usernamePrefix },
      groups: { claim: one.groupsClaim, prefix: one.groupsPrefix },
    },
    userValidationRules: buildUserValidationRules(
      one,
      trust.filter((other) => other !== one),
    ),
  }));

/**
 * Rules that exclude names of Kubernetes itself, and names of another issuer whose longer prefix begins with this
 * issuer's prefix.
 */
function buildUserValidationRules(own: OidcTrust, others: readonly OidcTrust[]): ConfigDocument[] {
  const users = ['system:', ...others.map((other) => other.usernamePrefix)].filter((prefix) =>
    isLongerPrefix(prefix, own.usernamePrefix),
  );
  const groups = ['system:', ...others.map((other) => other.groupsPrefix)].filter((prefix) =>
    isLongerPrefix(prefix, own.groupsPrefix),
  );
  return [
    ...unique(users).map((prefix) => ({
      expression: `!user.username.startsWith(${JSON.stringify(prefix)})`,
      message: `names of users that begin with ${prefix} are not for this issuer`,
    })),
    ...unique(groups).map((prefix) => ({
      expression: `user.groups.all(group, !group.startsWith(${JSON.stringify(prefix)}))`,
      message: `names of groups that begin with ${prefix} are not for this issuer`,
    })),
  ];
}

const isLongerPrefix = (prefix: string, own: string): boolean => prefix !== own && prefix.startsWith(own);
const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
