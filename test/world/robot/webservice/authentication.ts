import { timingSafeEqual } from 'node:crypto';
import type { AccountState, LoginFailures, RobotState } from '../state.ts';
import { worldSeconds } from '../world-time.ts';
import { RobotError } from './errors.ts';

/** After this many failed logins an address is locked out for a while (Robot webservice documentation). */
const allowedFailures = 3;
const blockedSeconds = 600;

/** The connection of a blocked address must be closed without an answer. */
export class AddressBlocked extends Error {}

/**
 * Authenticates a call. A failed login counts for its address, and a later success does not reset the count, so a valid
 * client at the same address is locked out, too. A call without credentials is refused and does not count.
 */
export function authenticateAccount(robot: RobotState, authorization: string | undefined, from: string): AccountState {
  const strikes = loginFailuresOf(robot, from);
  if (strikes.blockedUntil > worldSeconds(robot)) throw blockedError(robot);
  const given = parseBasicAuth(authorization);
  if (!given) throw unauthorizedRobotError();
  const account = robot.accounts.find(
    ({ user, password }) => equalsConstantTime(user, given.user) && equalsConstantTime(password, given.password),
  );
  if (account) return account;
  countLoginFailure(robot, from);
  throw unauthorizedRobotError();
}

/** A failed login of this address, by any call. */
export function countLoginFailure(robot: RobotState, from: string): void {
  const strikes = loginFailuresOf(robot, from);
  const now = worldSeconds(robot);
  strikes.failures = [...strikes.failures.filter((at) => now - at < blockedSeconds), now];
  if (strikes.failures.length < allowedFailures) return;
  strikes.failures = [];
  strikes.blockedUntil = now + blockedSeconds;
  robot.lockouts.push(from);
}

export const unauthorizedRobotError = (): RobotError => new RobotError(401, 'UNAUTHORIZED', 'unauthorized');

/** The response to a blocked client is undocumented. */
function blockedError({ behaviour }: RobotState): Error {
  if (behaviour.blocked === 'drop') return new AddressBlocked();
  return behaviour.blocked === 'forbidden' ? new RobotError(403, 'FORBIDDEN', 'forbidden') : unauthorizedRobotError();
}

function loginFailuresOf({ strikes }: RobotState, from: string): LoginFailures {
  const found = strikes.get(from) ?? { failures: [], blockedUntil: 0 };
  strikes.set(from, found);
  return found;
}

function parseBasicAuth(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^Basic +(\S+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { user, password: rest.join(':') };
}

function equalsConstantTime(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
