import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { asArray, asObject, asText, type JsonObject } from '../json.ts';
import type { ObjectStorage } from '../storage/store.ts';
import type { OidcTokenAuthenticator } from './oidc-tokens.ts';
import type { TokenKey } from './token-key.ts';

export interface ApiUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const authenticatedGroup = 'system:authenticated';
export const anonymousUser: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export interface Authenticator {
  readonly storage: ObjectStorage;
  readonly key: TokenKey;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly tokens: Readonly<Record<string, { readonly user: string; readonly groups: readonly string[] }>>;
  readonly anonymousAuth: boolean;
  /** Users of OIDC issuers. */
  readonly oidc: OidcTokenAuthenticator;
}

/** The bearer token of a request. */
export const bearerOf = (request: IncomingMessage): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];

/** The sender of the request, or undefined: 401. An invalid bearer token is refused even where anonymous is allowed. */
export function authenticateRequest(auth: Authenticator, request: IncomingMessage): ApiUser | undefined {
  const socket = request.socket as TLSSocket;
  const subject = subjectOf(socket);
  // A client certificate decides: one of another CA is refused even where anonymous is allowed.
  if (subject) return socket.authorized ? userFromSubject(subject) : undefined;
  const token = bearerOf(request);
  if (token) return userFromToken(auth, token, auth.audiences)?.user ?? auth.oidc.read(token);
  if (request.headers.authorization) return undefined;
  return auth.anonymousAuth ? anonymousUser : undefined;
}

type Subject = Readonly<Record<string, string | string[]>>;

/** Parsing a certificate is slow, and a connection keeps its certificate. */
const subjects = new WeakMap<TLSSocket, { readonly subject: Subject | undefined }>();

function subjectOf(socket: TLSSocket): Subject | undefined {
  const known = subjects.get(socket) ?? {
    subject: socket.getPeerCertificate().subject as unknown as Subject | undefined,
  };
  subjects.set(socket, known);
  return known.subject;
}

function userFromSubject(subject: Subject): ApiUser | undefined {
  const name = [subject['CN'] ?? []].flat()[0];
  return name ? { name, groups: [...[subject['O'] ?? []].flat(), authenticatedGroup] } : undefined;
}

/** Validates a token for the given audiences; TokenReview uses it, too. */
export function userFromToken(
  auth: Authenticator,
  token: string,
  audiences: readonly string[],
): { user: ApiUser; audiences: readonly string[] } | undefined {
  const known = Object.hasOwn(auth.tokens, token) ? auth.tokens[token] : undefined;
  if (known) return { user: { name: known.user, groups: [...known.groups, authenticatedGroup] }, audiences };
  const claims = auth.key.read(token);
  if (!claims || claims['iss'] !== auth.issuer || !isWithinLifetime(claims)) return undefined;
  const agreed = asArray(claims['aud'])
    .map(String)
    .filter((audience) => audiences.includes(audience));
  if (agreed.length === 0) return undefined;
  const user = serviceAccountUser(auth.storage, claims);
  return user && { user, audiences: agreed };
}

const accountUser = (namespace: string, name: string, uid: string): ApiUser => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  uid,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticatedGroup],
});

/** A minute of leeway for nbf, none for exp, as in the server's JWT library. */
function isWithinLifetime(claims: JsonObject): boolean {
  const seconds = Date.now() / 1000;
  return Number(claims['exp']) > seconds && Number(claims['nbf'] ?? 0) <= seconds + 60;
}

function serviceAccountUser(storage: ObjectStorage, claims: JsonObject): ApiUser | undefined {
  const bound = asObject(claims['kubernetes.io']);
  const namespace = asText(bound['namespace']);
  const account = asObject(bound['serviceaccount']);
  const name = asText(account['name']);
  const uid = asText(account['uid']);
  const found = storage.read('serviceaccounts', namespace, name);
  if (!found || found.metadata.uid !== uid || isDeletedOverAMinute(found.metadata.deletionTimestamp)) return undefined;
  for (const plural of ['secrets', 'pods']) {
    const other = asObject(bound[plural.slice(0, -1)]);
    if (other['name'] && storage.read(plural, namespace, asText(other['name']))?.metadata.uid !== other['uid']) {
      return undefined;
    }
  }
  return {
    ...accountUser(namespace, name, uid),
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${asText(claims['jti'])}`] },
  };
}

/** The tokens of a terminating ServiceAccount stay valid for a minute. */
const isDeletedOverAMinute = (timestamp: string | undefined): boolean =>
  timestamp !== undefined && Date.parse(timestamp) < Date.now() - 60_000;
