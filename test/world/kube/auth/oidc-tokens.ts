import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { Environment } from '@marcbachmann/cel-js';
import { Agent, request } from 'undici';
import { asArray, asObject, asText, type JsonObject } from '../json.ts';
import type { ApiUser } from './authentication.ts';

/** An issuer that an API server is configured to trust. */
export interface TrustedOidcIssuer {
  readonly url: string;
  /** PEM; default: the public CAs. */
  readonly ca?: string;
  readonly audiences: readonly string[];
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  /** Empty: no groups. */
  readonly groupsClaim: string;
  readonly groupsPrefix: string;
  /** CEL over `user`: a user that does not match is refused. */
  readonly userRules: readonly string[];
}

const digests: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
  ES512: 'sha512',
};

/**
 * Validates tokens of OIDC issuers like kube-apiserver (apiserver: plugin/pkg/authenticator/token/oidc): keys are
 * fetched for a token with an unknown key, and cached.
 */
export class OidcTokenAuthenticator {
  readonly #issuers: readonly (TrustedOidcIssuer & { readonly agent: Agent })[];
  readonly #keys = new Map<string, readonly JsonObject[]>();

  constructor(issuers: readonly TrustedOidcIssuer[]) {
    this.#issuers = issuers.map((issuer) => ({
      ...issuer,
      agent: new Agent({ connect: issuer.ca ? { ca: issuer.ca } : {}, headersTimeout: 5000 }),
    }));
  }

  /** Fetches keys if this token needs an unknown one. */
  async prepare(token: string | undefined): Promise<void> {
    const read = token && parseToken(token);
    const issuer = read && this.#issuers.find(({ url }) => url === read.claims['iss']);
    if (!issuer || this.#keyOf(issuer.url, read.header)) return;
    try {
      const about = await fetchJson(issuer.agent, `${issuer.url}/.well-known/openid-configuration`);
      if (about['issuer'] !== issuer.url) return;
      const { keys } = await fetchJson(issuer.agent, asText(about['jwks_uri']));
      this.#keys.set(issuer.url, asArray(keys).map(asObject));
    } catch {
      // Tokens of an unreachable issuer cannot be verified.
    }
  }

  /** The user of a token; undefined for an invalid one. */
  read(token: string): ApiUser | undefined {
    const read = parseToken(token);
    const issuer = read && this.#issuers.find(({ url }) => url === read.claims['iss']);
    if (!issuer) return undefined;
    const key = this.#keyOf(issuer.url, read.header);
    if (!key || !isSigned(read, key) || !isWithinLifetime(read.claims)) return undefined;
    if (![read.claims['aud']].flat().some((audience) => issuer.audiences.includes(String(audience)))) return undefined;
    return toUser(issuer, read.claims);
  }

  async close(): Promise<void> {
    await Promise.all(this.#issuers.map(({ agent }) => agent.destroy()));
  }

  #keyOf(url: string, header: JsonObject): JsonObject | undefined {
    return this.#keys.get(url)?.find(({ kid }) => kid === header['kid']);
  }
}

interface ParsedToken {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  readonly text: string;
  readonly signature: Buffer;
}

function parseToken(token: string): ParsedToken | undefined {
  const [header = '', claims = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || signature === '') return undefined;
  try {
    const parse = (part: string): JsonObject => asObject(JSON.parse(Buffer.from(part, 'base64url').toString('utf8')));
    const text = `${header}.${claims}`;
    return { header: parse(header), claims: parse(claims), text, signature: Buffer.from(signature, 'base64url') };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function fetchJson(agent: Agent, url: string): Promise<JsonObject> {
  const { statusCode, body } = await request(url, { dispatcher: agent });
  if (statusCode !== 200) {
    await body.dump();
    throw new Error(`${url} answers ${statusCode}`);
  }
  return asObject(await body.json());
}

function isSigned({ header, text, signature }: ParsedToken, jwk: JsonObject): boolean {
  const digest = digests[asText(header['alg'])];
  if (!digest || (jwk['alg'] !== undefined && jwk['alg'] !== header['alg'])) return false;
  const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  return verify(digest, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** Five minutes of leeway for nbf, none for exp (go-oidc: verify.go). */
function isWithinLifetime(claims: JsonObject): boolean {
  const seconds = Date.now() / 1000;
  return Number(claims['exp']) > seconds && Number(claims['nbf'] ?? 0) <= seconds + 300;
}

function toUser(issuer: TrustedOidcIssuer, claims: JsonObject): ApiUser | undefined {
  const name = claims[issuer.usernameClaim];
  if (typeof name !== 'string' || (issuer.usernameClaim === 'email' && claims['email_verified'] === false))
    return undefined;
  const given = issuer.groupsClaim === '' ? [] : [claims[issuer.groupsClaim] ?? []].flat();
  const groups = given.map((group) => `${issuer.groupsPrefix}${String(group)}`);
  const user = { username: `${issuer.usernamePrefix}${name}`, uid: '', groups };
  const environment = new Environment().registerVariable('user', 'map');
  if (!issuer.userRules.every((rule) => environment.parse(rule)({ user }) === true)) return undefined;
  return { name: user.username, groups: [...groups, 'system:authenticated'] };
}
