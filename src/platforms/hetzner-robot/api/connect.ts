import { createHash } from 'node:crypto';
import type { PlatformContext } from '../../../engine/contexts.ts';
import { SecretString, type SecretStrings } from '../../../lib/secret-string.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { RobotAccount, type RobotScope } from './account.ts';
import { CallBudgets } from './call-budget.ts';
import { RobotClient } from './client.ts';
import { LoginLimiter } from './login-limiter.ts';

/** The webservice, not the web panel robot.hetzner.com. */
export const defaultRobotUrl = 'https://robot-ws.your-server.de';

export interface RobotAccess {
  /** Name of the Secret with the keys `username` and `password`. */
  readonly credentialsName: string;
  /** HTTPS; default {@link defaultRobotUrl}. */
  readonly url?: string | undefined;
  /** PEM; the only certificates that are trusted. */
  readonly caBundle?: string | undefined;
}

/**
 * Connects to Hetzner Robot with the credentials of a Secret, for calls that name nothing outside `scope`. Calls of one
 * user share their budgets in the whole process. Other credentials are another connection, which a refusal of the old
 * ones does not affect. Throws CREDENTIALS_MISSING or CONFIG_INVALID.
 */
export function connectRobot(
  context: Pick<PlatformContext, 'credentials' | 'connections' | 'clock' | 'log'>,
  access: RobotAccess,
  scope: RobotScope,
): RobotClient {
  const { credentials, connections, clock, log } = context;
  const [user, password] = [trimmed(credentials['username']), trimmed(credentials['password'])];
  const label = access.credentialsName;
  if (user.reveal() === '' || password.reveal() === '') {
    throw new HetznerRobotError('CREDENTIALS_MISSING', `Secret ${label} needs the keys username and password.`);
  }
  if (user.reveal().includes(':')) {
    throw new HetznerRobotError('CREDENTIALS_MISSING', `Secret ${label}: a username cannot contain a colon.`);
  }
  const origin = originOf(access.url ?? defaultRobotUrl);
  const ca = access.caBundle;
  const owner = hashParts(origin, user.reveal());
  const account = connections.get(
    `hetzner-robot:${hashParts(origin, user.reveal(), password.reveal(), ca ?? '')}`,
    () =>
      new RobotAccount({
        ...{ origin, user, password, label, clock, log },
        ...(ca ? { ca } : {}),
        observer: connections.observer,
        budgets: connections.get(`hetzner-robot-budgets:${owner}`, () => new CallBudgets(clock)),
        logins: connections.get(`hetzner-robot-logins:${origin}`, () => new LoginLimiter(clock)),
      }),
  );
  return new RobotClient(account, scope);
}

/** Identifies an account by its login without revealing it. */
export function accountIdOf(credentials: SecretStrings, url: string): string {
  return hashParts(originOf(url), trimmed(credentials['username']).reveal()).slice(0, 16);
}

/** Files that Secrets are made from often end with a line break. */
const trimmed = (secret: SecretString | undefined): SecretString => new SecretString(secret?.reveal().trim() ?? '');

const hashParts = (...parts: string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.pathname === '/' && url.search === '';
  // The credentials go with every call, so plain HTTP is refused.
  if (!url || !isPlain)
    throw new HetznerRobotError('CONFIG_INVALID', 'The URL of Hetzner Robot has to be https://host[:port].');
  return url.origin;
}
