import type { Grants, LoginGrant } from './grants.ts';
import type { OidcClient, OidcSeed } from './seed.ts';
import type { OidcUsers } from './users.ts';

/** The shared state of all endpoints of the issuer. */
export interface Issuer {
  /** The issuer URL in tokens. */
  readonly url: string;
  readonly seed: OidcSeed;
  readonly people: OidcUsers;
  readonly grants: Grants;
  now(): Date;
  idToken(login: LoginGrant): string;
}

export const scopes: readonly string[] = ['openid', 'profile', 'email', 'groups', 'offline_access'];

export const findClient = ({ seed }: Issuer, id: string | undefined): OidcClient | undefined =>
  seed.clients.find((client) => client.id === id);

/** The time in this many seconds. */
export const secondsFromNow = (issuer: Issuer, seconds: number): Date =>
  new Date(issuer.now().getTime() + seconds * 1000);

/** The discovery document (OpenID Connect Discovery, 3). */
export const discoveryDocument = ({ url }: Issuer): object => ({
  issuer: url,
  jwks_uri: `${url}/keys`,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  scopes_supported: scopes,
  subject_types_supported: ['public'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  id_token_signing_alg_values_supported: ['ES256', 'RS256'],
});
