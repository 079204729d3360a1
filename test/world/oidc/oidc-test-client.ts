import { createHash, randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import type { OidcSimulator } from './index.ts';

/** Redirect URI of a native app. Nothing listens there: the code is read from the redirect. */
export const redirectUri = 'http://localhost:8123';

type Fields = Readonly<Record<string, string | undefined>>;

export interface OidcReply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly location: URL | undefined;
}

/** The requests of a test to an issuer. */
export interface OidcTestClient {
  get(path: string, query?: Fields): Promise<OidcReply>;
  /** A form, as in OAuth. */
  post(path: string, form: Fields, headers?: Readonly<Record<string, string>>): Promise<OidcReply>;
  /** JSON, to a control endpoint of the simulator. */
  door(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<OidcReply>;
  /** The response to `GET /authorize` with valid parameters and `changes`; undefined omits a parameter. */
  authorize(changes?: Fields): Promise<OidcReply>;
  /** The code of a valid `GET /authorize`. */
  code(changes?: Fields): Promise<string>;
  /** `POST /token` for a code with valid parameters and `changes`. */
  exchange(code: string, changes?: Fields): Promise<OidcReply>;
  close(): Promise<void>;
}

const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');

const toParameters = (fields: Fields): URLSearchParams =>
  new URLSearchParams(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined));

export function openOidcTestClient(simulator: Pick<OidcSimulator, 'issuer' | 'ca'>): OidcTestClient {
  const dispatcher = new Agent({ connect: { ca: simulator.ca } });
  const call = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: string) => {
    const answer = await request(`${simulator.issuer}${path}`, { method, headers, body: body ?? null, dispatcher });
    const text = await answer.body.text();
    const { location } = answer.headers;
    return {
      status: answer.statusCode,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      location: location === undefined ? undefined : new URL(String(location)),
    };
  };
  const get = (path: string, query: Fields = {}) => call('GET', `${path}?${toParameters(query)}`);
  const post = (path: string, form: Fields, headers: Readonly<Record<string, string>> = {}) =>
    call(
      'POST',
      path,
      { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      toParameters(form).toString(),
    );
  const authorize = (changes: Fields = {}) =>
    get('/authorize', {
      response_type: 'code',
      client_id: 'kubernetes',
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 'here',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...changes,
    });
  return {
    get,
    post,
    door: (method, path, body) => call(method, path, {}, body === undefined ? undefined : JSON.stringify(body)),
    authorize,
    code: async (changes) => (await authorize(changes)).location?.searchParams.get('code') ?? '',
    exchange: (code, changes = {}) =>
      post('/token', {
        grant_type: 'authorization_code',
        client_id: 'kubernetes',
        redirect_uri: redirectUri,
        code,
        code_verifier: verifier,
        ...changes,
      }),
    close: () => dispatcher.close(),
  };
}

/** The unverified claims of a token. */
export const decodeClaims = (token: unknown): Record<string, unknown> =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString());
