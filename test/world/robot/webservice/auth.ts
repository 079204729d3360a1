import { timingSafeEqual } from 'node:crypto';
import type { Account, Robot, Strikes } from '../state.ts';
import { worldSeconds } from '../time.ts';
import { RobotError } from './errors.ts';

/** After so many failed logins an address is shut out for a while (Robot webservice documentation). */
const allowedFailures = 3;
const blockedSeconds = 600;

/** The connection of a blocked address is to be closed without an answer. */
export class Blocked extends Error {}

/**
 * Whose call this is. A failed login counts for its address; no later success makes up for it, so that whoever shares an address
 * with a right caller is caught, too. A call without any credentials is refused and does not count.
 */
export function admit(robot: Robot, authorization: string | undefined, from: string): Account {
  const strikes = strikesOf(robot, from);
  if (strikes.blockedUntil > worldSeconds(robot)) throw refusal(robot);
  const given = readBasic(authorization);
  if (!given) throw unauthorized();
  const account = robot.accounts.find(
    ({ user, password }) => isSame(user, given.user) && isSame(password, given.password),
  );
  if (account) return account;
  countFailure(robot, from);
  throw unauthorized();
}

/** A failed login of this address, by whatever call. */
export function countFailure(robot: Robot, from: string): void {
  const strikes = strikesOf(robot, from);
  const now = worldSeconds(robot);
  strikes.failures = [...strikes.failures.filter((at) => now - at < blockedSeconds), now];
  if (strikes.failures.length < allowedFailures) return;
  strikes.failures = [];
  strikes.blockedUntil = now + blockedSeconds;
  robot.lockouts.push(from);
}

export const unauthorized = (): RobotError => new RobotError(401, 'UNAUTHORIZED', 'unauthorized');

/** What a blocked client sees is not documented. */
function refusal({ behaviour }: Robot): Error {
  if (behaviour.blocked === 'drop') return new Blocked();
  return behaviour.blocked === 'forbidden' ? new RobotError(403, 'FORBIDDEN', 'forbidden') : unauthorized();
}

function strikesOf({ strikes }: Robot, from: string): Strikes {
  const found = strikes.get(from) ?? { failures: [], blockedUntil: 0 };
  strikes.set(from, found);
  return found;
}

function readBasic(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^Basic +(\S+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { user, password: rest.join(':') };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
