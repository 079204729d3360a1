import { hashNames } from '../../../lib/hash.ts';
import type { ConfigDocument } from '../config-document.ts';

/** An OIDC issuer whose tokens the API servers of a cluster take, and how its claims become users and groups. */
export interface OidcTrust {
  /** Its URL, as it stands in the tokens. */
  readonly issuer: string;
  /** Tokens are taken that are meant for one of them. */
  readonly clientIds: readonly string[];
  readonly usernameClaim: string;
  /** Stands before every user's name. Empty: none. */
  readonly usernamePrefix: string;
  readonly groupsClaim: string;
  /** Stands before every group's name. Empty: none. */
  readonly groupsPrefix: string;
  /** PEM of the authorities that its certificate may come from. Left out: those that the API server trusts anyway. */
  readonly ca?: string;
}

/** Where nodes before Talos 1.14 have the authorities of issuers. Only under `/var` may files be made on a node. */
export const issuerCaFolder = '/var/lib/oidc-authorities';

/** The name follows from the content: a file on a node is never another than it was. */
export const issuerCaPath = (ca: string): string => `${issuerCaFolder}/${issuerCaId(ca)}.crt`;

/** Eight characters that stand for a bundle of authorities. */
export const issuerCaId = (ca: string): string => hashNames(ca.trim());

/** All that kube-apiserver can check. By arguments it would take only the first, by a file all of them. */
export const signingAlgorithms = 'RS256,RS384,RS512,ES256,ES384,ES512,PS256,PS384,PS512';

/** What kube-apiserver takes for "no prefix": an empty one would become the issuer's URL. */
const noPrefix = '-';

/**
 * The field that arguments of kube-apiserver cannot say as it is, if there is one: a user prefix that is nothing but a
 * dash means none there, and the kubelet reads `$` in the arguments of a Pod as the beginning of a variable.
 */
export function findFieldUnfitForArguments(trust: OidcTrust): keyof OidcTrust | undefined {
  if (trust.usernamePrefix === noPrefix) return 'usernamePrefix';
  const fields = ['issuer', 'usernameClaim', 'usernamePrefix', 'groupsClaim', 'groupsPrefix'] as const;
  if (trust.clientIds.some((id) => id.includes('$'))) return 'clientIds';
  return fields.find((field) => trust[field].includes('$'));
}

/** Trust in one issuer as arguments of kube-apiserver; none for none. */
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
 * Whom an issuer may not name: what is Kubernetes' own, and who is named by another issuer, whose longer prefix begins
 * with its own.
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
