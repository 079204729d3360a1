import type { AccountState, RobotState } from '../state.ts';
import { worldSeconds } from '../world-time.ts';
import { RobotError } from './errors.ts';

const hourSeconds = 3600;

/** Requests per hour and account (Robot webservice documentation). */
const documentedLimits = {
  server: { GET: 200, POST: 200 },
  cancellation: { GET: 200, POST: 200, DELETE: 200 },
  ip: { GET: 5000, POST: 5000 },
  reset: { GET: 500, POST: 50 },
  failover: { GET: 100, POST: 50 },
  boot: { GET: 500, POST: 500, DELETE: 500 },
  key: { GET: 500, POST: 200, DELETE: 200 },
  vswitch: { GET: 500, POST: 100, DELETE: 100 },
} as const;

/** Endpoints that share a budget. */
export type BudgetGroup = keyof typeof documentedLimits;

/** Takes one request from the account's budget, or refuses: 403, not 429. A refused request costs nothing. */
export function spendRequest(robot: RobotState, account: AccountState, group: BudgetGroup, method: string): void {
  const limits: Readonly<Record<string, number>> = documentedLimits[group];
  const bucket = `${method} /${group}`;
  const limit = robot.limits[bucket] ?? limits[method] ?? Number.POSITIVE_INFINITY;
  const now = worldSeconds(robot);
  const recent = (account.spent.get(bucket) ?? []).filter((at) => now - at < hourSeconds);
  account.spent.set(bucket, recent);
  account.calls.set(bucket, (account.calls.get(bucket) ?? 0) + 1);
  if (recent.length >= limit) {
    const extra = { [robot.behaviour.rateLimitField]: limit, interval: hourSeconds };
    throw new RobotError(403, 'RATE_LIMIT_EXCEEDED', 'rate limit exceeded', extra);
  }
  recent.push(now);
}
