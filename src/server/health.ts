import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { ReflectorHealth } from '../kube/reflector/reflector.ts';

/** A health check. `problem` is a sentence, or `undefined` while all is well. */
export interface HealthCheck {
  /** kebab-case; shown to users. */
  readonly name: string;
  problem(): string | undefined;
}

export interface HealthOptions {
  /** The process should be restarted when one of these checks fails. */
  readonly live: readonly HealthCheck[];
  /** The process should not count as ready while one of these checks fails. */
  readonly ready: readonly HealthCheck[];
}

/** The state of a reflector that probes use. */
export interface ObservedReflector {
  readonly name: string;
  readonly health: ReflectorHealth;
}

/** `/healthz` and `/readyz` in the API server's format: one line per check, 200 or 503. */
export function createHealthServer(options: HealthOptions): FastifyInstance {
  const app = fastify();
  for (const path of ['/healthz', '/livez']) app.get(path, (_, reply) => replyWithChecks(reply, options.live));
  app.get('/readyz', (_, reply) => replyWithChecks(reply, options.ready));
  return app;
}

/**
 * A reflector that has received nothing for this long has a dead watch, whatever its state: only a restart helps. A
 * reflector that was never started (another process leads) is healthy.
 */
export function createWatchAliveCheck(reflector: ObservedReflector, limitSeconds = 900): HealthCheck {
  return {
    name: `watch-${reflector.name}`,
    problem: () => {
      const { isStarted, silentSeconds, lastError } = reflector.health;
      if (!isStarted || silentSeconds <= limitSeconds) return undefined;
      return `no event for ${Math.round(silentSeconds)} s${lastError ? `; last error: ${lastError}` : ''}`;
    },
  };
}

/** A controller is not ready before its caches have synced. */
export function createCacheSyncedCheck(reflector: ObservedReflector): HealthCheck {
  return {
    name: `cache-${reflector.name}`,
    problem: () => {
      const { isStarted, isSynced, lastError } = reflector.health;
      if (!isStarted || isSynced) return undefined;
      return `not listed yet${lastError ? `; last error: ${lastError}` : ''}`;
    },
  };
}

/** A leader exists and its name is known: otherwise the API server has not answered even once. */
export function createLeaderKnownCheck(leadership: {
  readonly isLeader: boolean;
  readonly holder: string | undefined;
}): HealthCheck {
  return {
    name: 'lease',
    problem: () => (leadership.isLeader || leadership.holder ? undefined : 'the leader is unknown'),
  };
}

async function replyWithChecks(reply: FastifyReply, checks: readonly HealthCheck[]): Promise<string> {
  const results = checks.map((check) => ({ name: check.name, problem: check.problem() }));
  const lines = results.map(({ name, problem }) => (problem ? `[-]${name} failed: ${problem}` : `[+]${name} ok`));
  const isWell = results.every(({ problem }) => !problem);
  reply.code(isWell ? 200 : 503).type('text/plain; charset=utf-8');
  return `${[...lines, isWell ? 'ok' : 'not ok'].join('\n')}\n`;
}
