import type { OidcAccess } from '../../api/openmcp.ts';
import type { TrustEntry } from './record.ts';

/** Whom one request wants to be trusted, with what the contract fills in where it says nothing. */
export type TrustWish = Omit<TrustEntry, 'requests' | 'ca'> & { readonly clientId: string };

/** A prefix is taken as it is, and an empty one is none; left out it is the name with a colon. */
export function toWish(oidc: OidcAccess): TrustWish {
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
export const fieldNames = {
  issuer: 'issuer',
  clientId: 'clientID',
  usernameClaim: 'usernameClaim',
  usernamePrefix: 'usernamePrefix',
  groupsClaim: 'groupsClaim',
  groupsPrefix: 'groupsPrefix',
} as const satisfies Record<keyof TrustWish, keyof OidcAccess>;

/**
 * What no API server can be told, or what would let an issuer speak for Kubernetes itself, as sentences that begin with
 * the field. An API server that is told nonsense does not start.
 */
export function findWishMistakes(oidc: OidcAccess): string[] {
  const wish = toWish(oidc);
  const fields = Object.entries(fieldNames) as [keyof TrustWish, string][];
  const strange = fields
    .filter(([key]) => [...wish[key]].some((letter) => letter < ' ' || letter === '\u007f'))
    .map(([, field]) => `spec.oidc.${field}: it holds a control character. Leave it out.`);
  const own = (['usernamePrefix', 'groupsPrefix'] as const)
    .filter((key) => wish[key].startsWith('system:'))
    .map((key) => `spec.oidc.${key}: what begins with system: is Kubernetes' own. Choose another prefix.`);
  return [...strange, ...own, ...issuerMistakes(wish.issuer)];
}

function issuerMistakes(issuer: string): string[] {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== 'https:' || url.username || url.password || /[?#]/.test(issuer))
    return ['spec.oidc.issuer: Kubernetes takes only https:// URLs without user, query and fragment. Use one.'];
  return [];
}
