/**
 * # An OIDC issuer
 *
 * HTTPS with an authority of its own; what kube-apiserver asks an issuer for (`/.well-known/openid-configuration` and the
 * keys), and instead of people who log in a door at which anybody gets a token for anyone: `POST /world/tokens`, right ones
 * and wrong ones. `POST /world/rotate` makes a new key.
 */
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { endsAfter, endsBefore } from '../course.ts';
import { makeAuthority } from '../kube/pki.ts';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { facts } from './facts.ts';
import { newKey, type SigningKey, signToken, toJwk } from './keys.ts';

const Seed = z.strictObject({ algorithm: z.enum(['ES256', 'RS256']).default('ES256') });

/** For whom a token is to be, and what may be wrong with it. */
const Wish = z.strictObject({
  /** `sub`. */
  subject: z.string(),
  groups: z.array(z.string()).optional(),
  audience: z.union([z.string(), z.array(z.string())]),
  /** Negative: it has ended already. */
  lifetimeSeconds: z.number().default(600),
  /** Further claims, or others in place of the usual ones, `iss` too. */
  claims: z.record(z.string(), z.unknown()).default({}),
  /** `stranger`: one that the issuer never had, under the name of the current one. */
  key: z.enum(['current', 'stranger']).default('current'),
});
export type TokenWish = z.input<typeof Wish>;

export interface OidcRoom extends RunningRoom {
  /** The URL that stands in tokens. */
  readonly issuer: string;
  /** PEM. */
  readonly ca: string;
  issue(wish: TokenWish): string;
  /** A new key from now on. Those before are published on, unless they are to be forgotten. */
  rotate(options?: { readonly forget?: boolean }): void;
  restart(): Promise<void>;
}

/** Starts an issuer over HTTPS. */
export async function startOidc(options: RoomOptions): Promise<OidcRoom> {
  const parsed = Seed.safeParse(options.seed ?? {});
  if (!parsed.success) throw new RangeError(`the seed is not one for oidc: ${z.prettifyError(parsed.error)}`);
  const { algorithm } = parsed.data;
  const authority = await makeAuthority('world-oidc-ca');
  const serving = await authority.issueServer([options.host, 'localhost']);
  const ca = join(options.folder, 'ca.crt');
  await writeFile(ca, authority.cert);
  let keys = [newKey(algorithm)];
  const state = { issuer: '' };
  const doors: Doors = {
    describe: () => describeIssuer(state.issuer),
    keys: () => ({ keys: keys.map(toJwk) }),
    issue: (wish) => issueToken(state.issuer, keys, wish),
    rotate: ({ forget = false } = {}) => {
      keys = [newKey(algorithm), ...(forget ? [] : keys)];
    },
  };
  const server = createServer({ ...serving, keepAliveTimeout: 600_000 }, (request, response) => {
    serve(options, doors, request, response).catch(() => request.socket.destroy());
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, options.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(options.port);
  const { port } = server.address() as AddressInfo;
  state.issuer = `https://${options.host}:${port}`;
  const credentials = { tokens: `${state.issuer}/world/tokens`, rotate: `${state.issuer}/world/rotate` };
  return {
    line: { room: facts.name, url: state.issuer, credentials, ca },
    issuer: state.issuer,
    ca: authority.cert,
    issue: doors.issue,
    rotate: doors.rotate,
    restart: async () => {
      await stop(server);
      await listen(port);
    },
    close: () => stop(server),
  };
}

/** The room, for the command line. */
export const room: Room = { ...facts, start: startOidc };

interface Doors {
  readonly describe: () => object;
  readonly keys: () => object;
  readonly issue: (wish: TokenWish) => string;
  readonly rotate: (options?: { readonly forget?: boolean }) => void;
}

const describeIssuer = (issuer: string): object => ({
  issuer,
  jwks_uri: `${issuer}/keys`,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256', 'RS256'],
});

function issueToken(issuer: string, keys: readonly SigningKey[], given: TokenWish): string {
  const wish = Wish.parse(given);
  const [current] = keys;
  if (!current) throw new Error('the issuer has no key');
  const key = wish.key === 'current' ? current : { ...newKey(current.algorithm), id: current.id };
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now - 60, exp: now + wish.lifetimeSeconds };
  const { subject: sub, audience: aud, groups } = wish;
  return signToken(key, { iss: issuer, sub, aud, ...times, ...(groups ? { groups } : {}), ...wish.claims });
}

async function serve(
  options: RoomOptions,
  doors: Doors,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = new URL(request.url ?? '/', 'https://issuer').pathname;
  const name = `${request.method} ${path}`;
  const fault = options.switchboard.pass(facts.name, name, undefined, undefined, request.socket.remoteAddress);
  if (await endsBefore(fault)) return void request.socket.destroy();
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const answer: Answer =
    fault?.kind === 'error' ? [fault.status ?? 500, fault.body ?? {}] : ask(doors, name, Buffer.concat(chunks));
  if (await endsAfter(fault)) return void request.socket.destroy();
  response.writeHead(answer[0], { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer[1]));
}

type Answer = readonly [status: number, body: unknown];

function ask(doors: Doors, name: string, body: Buffer): Answer {
  switch (name) {
    case 'GET /.well-known/openid-configuration':
      return [200, doors.describe()];
    case 'GET /keys':
      return [200, doors.keys()];
    case 'POST /world/rotate':
      doors.rotate();
      return [200, {}];
    case 'POST /world/tokens':
      return tryIssue(doors, body);
    default:
      return [404, { error: 'not_found' }];
  }
}

function tryIssue(doors: Doors, body: Buffer): Answer {
  try {
    return [200, { token: doors.issue(JSON.parse(body.toString('utf8'))) }];
  } catch (error) {
    return [
      400,
      { error: 'invalid_request', error_description: error instanceof Error ? error.message : 'unreadable' },
    ];
  }
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
