import { createHash } from 'node:crypto';
import type { CheckContext } from '../../../engine/platform.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { Secret, type Secrets } from '../../../lib/secret.ts';
import { RobotAccount, type Scope } from './account.ts';
import { Budgets } from './budget.ts';
import { Robot } from './client.ts';
import { Logins } from './logins.ts';

/** The webservice. The web panel, robot.hetzner.com, is none. */
export const defaultUrl = 'https://robot-ws.your-server.de';

export interface RobotAccess {
  /** Name of the Secret with the keys `username` and `password`. */
  readonly credentialsName: string;
  /** HTTPS; default {@link defaultUrl}. */
  readonly url?: string | undefined;
  /** PEM; to be trusted beside nothing else. */
  readonly caBundle?: string | undefined;
}

/**
 * Hetzner Robot with the credentials of a Secret, for calls that name nothing outside `scope`. All that the calls of one
 * user cost is counted together for the whole process; other credentials are another connection, about which a refusal of
 * the old ones says nothing. Throws CREDENTIALS_MISSING or CONFIG_INVALID.
 */
export function connectRobot(
  context: Pick<CheckContext, 'credentials' | 'connections' | 'clock' | 'log'>,
  access: RobotAccess,
  scope: Scope,
): Robot {
  const { credentials, connections, clock, log } = context;
  const [user, password] = [trimmed(credentials['username']), trimmed(credentials['password'])];
  const label = access.credentialsName;
  if (user.reveal() === '' || password.reveal() === '') {
    throw new ProviderError('CREDENTIALS_MISSING', `Secret ${label} needs the keys username and password.`);
  }
  if (user.reveal().includes(':')) {
    throw new ProviderError('CREDENTIALS_MISSING', `Secret ${label}: a username cannot have a colon in it.`);
  }
  const origin = originOf(access.url ?? defaultUrl);
  const ca = access.caBundle;
  const owner = hashOf(origin, user.reveal());
  const account = connections.get(
    `hetzner-robot:${hashOf(origin, user.reveal(), password.reveal(), ca ?? '')}`,
    () =>
      new RobotAccount({
        ...{ origin, user, password, label, clock, log },
        ...(ca ? { ca } : {}),
        observer: connections.observer,
        budgets: connections.get(`hetzner-robot-budgets:${owner}`, () => new Budgets(clock)),
        logins: connections.get(`hetzner-robot-logins:${origin}`, () => new Logins(clock)),
      }),
  );
  return new Robot(account, scope);
}

/** Tells accounts apart by the login that they are used with, which it does not show. */
export function accountIdOf(credentials: Secrets, url: string): string {
  return hashOf(originOf(url), trimmed(credentials['username']).reveal()).slice(0, 16);
}

/** Files that Secrets are made from like to end with a line break. */
const trimmed = (secret: Secret | undefined): Secret => new Secret(secret?.reveal().trim() ?? '');

const hashOf = (...words: string[]): string => createHash('sha256').update(JSON.stringify(words)).digest('hex');

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.pathname === '/' && url.search === '';
  // The credentials go with every call: never in the clear.
  if (!url || !isPlain)
    throw new ProviderError('CONFIG_INVALID', 'The URL of Hetzner Robot has to be https://host[:port].');
  return url.origin;
}
