import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../faults/apply-fault.ts';
import { createKubeAuthority } from '../kube/auth/certificates.ts';
import { startListening, stopListening } from '../network/listening.ts';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { handleAuthorizationRequest } from './authorization-endpoint.ts';
import { oidcDescription } from './description.ts';
import { Grants } from './grants.ts';
import { OAuthError, type OidcResponse } from './http-response.ts';
import { signIdToken, signRequestedToken, type TokenSpec } from './id-tokens.ts';
import { discoveryDocument, type Issuer } from './issuer.ts';
import { OidcSeed, type OidcUser } from './seed.ts';
import { newSigningKey, type SigningKey, toJwk } from './signing-keys.ts';
import { handleTokenRequest } from './token-endpoint.ts';
import { OidcUsers } from './users.ts';

export type { TokenSpec };

export interface OidcSimulator extends RunningSimulator {
  /** The issuer URL in tokens. */
  readonly issuer: string;
  /** PEM. */
  readonly ca: string;
  issue(desired: TokenSpec): string;
  /** Sets the current user; undefined: none. */
  seat(person: z.input<typeof OidcUser> | undefined): void;
  /** Creates a new key. Earlier keys stay published, unless they are dropped. */
  rotate(options?: { readonly forget?: boolean }): void;
  restart(): Promise<void>;
}

/** Starts an issuer over HTTPS. */
export async function startOidc(options: SimulatorOptions): Promise<OidcSimulator> {
  const parsed = OidcSeed.safeParse(options.seed ?? {});
  if (!parsed.success) throw new RangeError(`the seed is not one for oidc: ${z.prettifyError(parsed.error)}`);
  const authority = await createKubeAuthority('world-oidc-ca');
  const serving = await authority.issueServer([options.host, 'localhost']);
  const ca = join(options.folder, 'ca.crt');
  await writeFile(ca, authority.cert);
  const state = { url: '' };
  const doors = createControls(options, parsed.data, state);
  const server = createServer({ ...serving, keepAliveTimeout: 600_000 }, (request, response) => {
    serve(options, doors, request, response).catch(() => request.socket.destroy());
  });
  const port = await startListening(server, options.host, options.port);
  state.url = `https://${options.host}:${port}`;
  const { url } = state;
  const credentials = { tokens: `${url}/world/tokens`, rotate: `${url}/world/rotate`, people: `${url}/world/people` };
  return {
    line: { simulator: oidcDescription.name, url, credentials, ca },
    issuer: url,
    ca: authority.cert,
    issue: doors.issue,
    seat: doors.seat,
    rotate: doors.rotate,
    restart: async () => {
      await stopListening(server);
      await startListening(server, options.host, port);
    },
    close: () => stopListening(server),
  };
}

/** The simulator, for the command line. */
export const oidcSimulator: Simulator = { ...oidcDescription, start: startOidc };

interface OidcControls extends Pick<OidcSimulator, 'issue' | 'seat' | 'rotate'> {
  readonly issuer: Issuer;
  readonly keys: () => readonly SigningKey[];
}

function createControls({ clock }: SimulatorOptions, seed: OidcSeed, state: { readonly url: string }): OidcControls {
  let keys: readonly SigningKey[] = [newSigningKey(seed.algorithm)];
  const people = new OidcUsers(seed.people);
  const signing = () => ({ issuer: state.url, keys, now: clock.now() });
  return {
    issuer: {
      get url() {
        return state.url;
      },
      seed,
      people,
      grants: new Grants(),
      now: () => clock.now(),
      idToken: (login) => signIdToken(signing(), login, login.person.tokenSeconds ?? seed.tokenSeconds),
    },
    keys: () => keys,
    issue: (desired) => signRequestedToken(signing(), desired),
    seat: (person) => (person ? people.arrive(person) : people.leave()),
    rotate: ({ forget = false } = {}) => {
      keys = [newSigningKey(seed.algorithm), ...(forget ? [] : keys)];
    },
  };
}

async function serve(
  options: SimulatorOptions,
  doors: OidcControls,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://issuer');
  const name = `${request.method} ${url.pathname}`;
  const fault = options.switchboard.pass(
    oidcDescription.name,
    name,
    undefined,
    undefined,
    request.socket.remoteAddress,
  );
  if (await applyFaultBeforeCall(fault)) return void request.socket.destroy();
  const asked = { name, query: url.searchParams, headers: request.headers, body: await text(request) };
  const { status, body, headers }: OidcResponse =
    fault?.kind === 'error' ? { status: fault.status ?? 500, body: fault.body ?? {} } : respond(doors, asked);
  if (await applyFaultAfterCall(fault)) return void request.socket.destroy();
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

interface OidcRequest {
  readonly name: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function respond(doors: OidcControls, asked: OidcRequest): OidcResponse {
  try {
    return asked.name.includes('/world/') ? handleControlRequest(doors, asked) : handleRequest(doors, asked);
  } catch (error) {
    if (error instanceof OAuthError) return error.toAnswer();
    const message = error instanceof Error ? error.message : 'unreadable';
    return new OAuthError('invalid_request', message).toAnswer();
  }
}

function handleRequest({ issuer, keys }: OidcControls, { name, query, headers, body }: OidcRequest): OidcResponse {
  const { authorization } = headers;
  switch (name) {
    case 'GET /.well-known/openid-configuration':
      return { status: 200, body: discoveryDocument(issuer) };
    case 'GET /keys':
      return { status: 200, body: { keys: keys().map(toJwk) } };
    case 'GET /authorize':
      return handleAuthorizationRequest(issuer, query);
    case 'POST /token':
      return handleTokenRequest(issuer, { form: parseForm(headers, body), authorization });
    default:
      return { status: 404, body: { error: 'not_found' } };
  }
}

function handleControlRequest(
  { issue, seat: assignment, rotate }: OidcControls,
  { name, body }: OidcRequest,
): OidcResponse {
  switch (name) {
    case 'POST /world/rotate':
      rotate();
      return { status: 200, body: {} };
    case 'POST /world/tokens':
      return { status: 200, body: { token: issue(JSON.parse(body)) } };
    case 'POST /world/people':
      assignment(JSON.parse(body));
      return { status: 200, body: {} };
    case 'DELETE /world/people':
      assignment(undefined);
      return { status: 200, body: {} };
    default:
      return { status: 404, body: { error: 'not_found' } };
  }
}

function parseForm(headers: IncomingMessage['headers'], body: string): URLSearchParams {
  const type = headers['content-type']?.split(';')[0];
  if (type !== 'application/x-www-form-urlencoded')
    throw new OAuthError('invalid_request', 'the body has to be application/x-www-form-urlencoded');
  return new URLSearchParams(body);
}
