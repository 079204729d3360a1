import type { Agent } from 'undici';
import type { z } from 'zod';
import type { Closable } from '../../../engine/connection.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { createHttpAgent } from '../../../lib/net/http.ts';
import { type CallObserver, observeCall } from '../../../lib/observers.ts';
import type { CircuitBreaker } from '../../../lib/resilience/circuit-breaker.ts';
import { ConcurrencyLimit } from '../../../lib/resilience/concurrency-limit.ts';
import { ResponseCache } from '../../../lib/resilience/response-cache.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { HetznerRobotError, type HetznerRobotErrorCode } from '../error-codes.ts';
import { NoResponseError, RobotApiError, toRobotError } from '../errors.ts';
import {
  type BudgetRejection,
  type BudgetTicket,
  type CallBudget,
  type CallBudgets,
  isBudgetRejection,
  toBudgetError,
} from './call-budget.ts';
import { sendRobotRequest } from './http-exchange.ts';
import type { LoginLimiter } from './login-limiter.ts';
import { createRobotCircuitBreaker, type RobotOutage, toRobotOutageError } from './outage.ts';
import { type PermittedRequest, permitRequest, type RobotRequest, routeNameOf } from './permit-request.ts';
import type { RobotRoute } from './routes.ts';
import { parseRobotReply, type RobotServer } from './schema.ts';

export interface RobotAccountOptions {
  /** `https://host[:port]`. */
  readonly origin: string;
  readonly ca?: string;
  readonly user: SecretString;
  readonly password: SecretString;
  /** Name of the Secret, for messages and metrics. Never the login. */
  readonly label: string;
  /** Shared by all accounts that log in as the same user. */
  readonly budgets: CallBudgets;
  /** Shared by all accounts of the same webservice. */
  readonly logins: LoginLimiter;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: CallObserver;
  /** Returns a number from 0 to 1 for the jitter of retries. */
  readonly random?: () => number;
}

/** The servers and addresses that calls may name. Evaluated again for each call. */
export interface RobotScope {
  /** Numbers of the servers that have a Host object. */
  servers(): ReadonlySet<number>;
  /** Failover addresses that the configuration names; default: none. */
  failovers?(): ReadonlySet<string>;
}

export interface RobotCallOptions {
  readonly signal: AbortSignal;
  /** Timeout in seconds. Default: 30, or 180 for routes that Robot answers only when the work is done. */
  readonly seconds?: number;
}

const defaultTimeoutSeconds = { quick: 30, slow: 180 };
/** Longest wait in the queue. A longer one would block workers that other platforms need. */
const maxQueueSeconds = 3;
/** Pause after a 403 without an error body, which is treated as a rate limit. */
const bareForbiddenPauseSeconds = 300;
/** Robot's own rate limit interval, used where the answer names none. */
const defaultIntervalSeconds = 3600;
/** Robot forgets failed logins after this time. */
const lockoutSeconds = 600;
/** Two calls may run at once for this long after a successful login. */
const provenForMs = 60_000;

/**
 * The webservice as one webservice user. Every call to Robot passes here.
 *
 * The first 401 closes the account: later calls with the same user and password fail without being sent, because a
 * third failed login locks out every client behind our address. Other credentials are another account. For the same
 * reason calls run one at a time until a login has succeeded, and never more than two at once.
 */
export class RobotAccount implements Closable {
  readonly options: RobotAccountOptions;
  readonly shared: ResponseCache;
  readonly #agent: Agent;
  readonly #circuitBreaker: CircuitBreaker<RobotOutage>;
  readonly #limit: ConcurrencyLimit;
  readonly #slowLimit: ConcurrencyLimit;
  readonly #over = new AbortController();
  /** By server number. */
  readonly #known = new Map<number, ServerAddresses>();
  /** Server numbers by address. */
  readonly #owners = new Map<string, number>();
  #provenAt: number | undefined;
  #loginError: ProviderError | undefined;
  #lostInARow = 0;
  /** Logins that may have failed. Each function takes one back. */
  readonly #uncertain: (() => void)[] = [];

  constructor(options: RobotAccountOptions) {
    const { clock, ca, random } = options;
    this.options = options;
    this.shared = new ResponseCache(clock);
    this.#agent = createHttpAgent({ ...(ca ? { ca } : {}), connections: 3 });
    this.#circuitBreaker = createRobotCircuitBreaker(clock, random);
    this.#limit = new ConcurrencyLimit(() => Math.max(this.#isCautious ? 1 : 2, this.#slowLimit.running + 1));
    this.#slowLimit = new ConcurrencyLimit(1);
  }

  /** Aborted when the account is closed. For calls that several callers share. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Makes a call and parses its answer. Throws a ProviderError for everything but an abort of the signal. A call that
   * changes something is sent at most once: after ROBOT_OUTCOME_UNKNOWN or DEADLINE_EXCEEDED the caller has to read the
   * state.
   */
  async call<T>(request: RobotRequest, answer: z.ZodType<T>, scope: RobotScope, options: RobotCallOptions): Promise<T> {
    const permitted = this.#permit(request, scope);
    const name = routeNameOf(permitted.route);
    let text: string;
    try {
      text = await this.#send(request, permitted, scope, options);
    } catch (error) {
      if (request.method !== 'GET' || !isConnectionLost(error)) throw error;
      // Servers sometimes close an idle connection while it is being used. A read changes nothing, so it is retried
      // once.
      text = await this.#send(request, permitted, scope, options);
    }
    return parseRobotReply(name, text, answer);
  }

  /** Throws the error of a spent budget, as a call would, and keeps the caller's place in the queue. Sends nothing. */
  checkBudget(request: RobotRequest, scope: RobotScope): void {
    const { route, servers } = this.#permit(request, scope);
    const rejection = this.options.budgets.of(route.budget).check(servers.join() || request.path);
    if (rejection) throw toBudgetError(rejection, routeNameOf(route));
  }

  /** Records the addresses that Robot reports for a server, so that calls can name them. */
  recordResponse(server: ServerAddresses & { readonly number: number }): void {
    const { number, address, ipv6Net } = server;
    for (const one of [address, ipv6Net]) {
      if (one === undefined) continue;
      const other = this.#owners.get(one);
      // The address has moved from the other server to this one.
      if (other !== undefined && other !== number) this.#known.delete(other);
      this.#owners.set(one, number);
    }
    this.#known.set(number, server);
  }

  /** The addresses that were last learned. */
  addressesOf(number: number): ServerAddresses | undefined {
    return this.#known.get(number);
  }

  close(): Promise<void> {
    this.#over.abort(new HetznerRobotError('ROBOT_UNREACHABLE', 'The connection was closed by this process.'));
    return this.#agent.destroy();
  }

  /** True while a second concurrent call would risk a second failed login. */
  get #isCautious(): boolean {
    const age = this.options.clock.monotonic() - (this.#provenAt ?? Number.NEGATIVE_INFINITY);
    return age > provenForMs || this.#circuitBreaker.failure !== undefined || this.options.logins.isNearLimit;
  }

  #permit(request: RobotRequest, scope: RobotScope): PermittedRequest {
    return permitRequest(request, {
      servers: scope.servers(),
      failovers: scope.failovers?.() ?? new Set(),
      ownerOf: (address) => this.#ownerOf(address),
    });
  }

  #ownerOf(wanted: string): number | undefined {
    const owner = this.#owners.get(wanted);
    const known = owner === undefined ? undefined : this.#known.get(owner);
    return known?.address === wanted || known?.ipv6Net === wanted ? owner : undefined;
  }

  async #send(
    request: RobotRequest,
    { route, servers }: PermittedRequest,
    scope: RobotScope,
    options: RobotCallOptions,
  ): Promise<string> {
    const { clock, budgets } = this.options;
    const until = clock.monotonic() + maxQueueSeconds * 1000;
    const budget = budgets.of(route.budget);
    // Each caller in the queue is a Machine, and each Machine holds one server.
    const key = servers.length > 0 ? servers.join() : request.path;
    for (;;) {
      this.#throwIfShut();
      const leave = await this.#enter(route.isSlow === true, until, options.signal);
      let answer: BudgetTicket | BudgetRejection;
      try {
        this.#throwIfShut();
        answer = budget.take(key);
        if (!isBudgetRejection(answer)) return await this.#attempt({ request, key, ticket: answer }, scope, options);
      } finally {
        leave();
      }
      if (clock.monotonic() + answer.seconds * 1000 > until) throw toBudgetError(answer, routeNameOf(route));
      await clock.sleep(answer.seconds * 1000, options.signal);
    }
  }

  #throwIfShut(): void {
    if (this.#over.signal.aborted) throw this.#over.signal.reason;
    if (this.#loginError) throw this.#loginError;
    this.#circuitBreaker.throwIfOpen(toRobotOutageError);
  }

  /** Waits for a free slot. Returns the function that releases it. */
  async #enter(isSlow: boolean, until: number, signal: AbortSignal): Promise<() => void> {
    const toError = (): ProviderError => {
      const outage = this.#circuitBreaker.failure;
      if (outage) return toRobotOutageError(outage, maxQueueSeconds);
      return new HetznerRobotError('ROBOT_BUSY', '', { retryAfterSeconds: maxQueueSeconds });
    };
    const deadline = { clock: this.options.clock, until, toError };
    if (!isSlow) return await this.#limit.acquire(signal, deadline);
    const leaveSlow = await this.#slowLimit.acquire(signal, deadline);
    try {
      const leave = await this.#limit.acquire(signal, deadline);
      return () => {
        leave();
        leaveSlow();
      };
    } catch (error) {
      leaveSlow();
      throw error;
    }
  }

  /** The only place that sends a call. It checks the permission again right before. */
  async #attempt(
    { request, key, ticket }: PermittedCall,
    scope: RobotScope,
    options: RobotCallOptions,
  ): Promise<string> {
    let attempt: CallAttempt;
    try {
      const { route } = this.#permit(request, scope);
      const { budgets, logins } = this.options;
      const endTrial = this.#provenAt === undefined ? logins.begin() : () => {};
      attempt = { route, key, name: routeNameOf(route), budget: budgets.of(route.budget), endTrial };
    } catch (error) {
      ticket.refund();
      throw error;
    }
    const { route, name, budget } = attempt;
    const seconds = options.seconds ?? (route.isSlow ? defaultTimeoutSeconds.slow : defaultTimeoutSeconds.quick);
    const allowance = {
      owner: this.options.label,
      name: budget.name,
      total: () => budget.total,
      remaining: () => budget.remaining,
    };
    const about = { system: 'hetzner-robot', name, signal: options.signal, allowance };
    return await observeCall(this.options.observer, about, async () => {
      try {
        const text = await sendRobotRequest({ ...this.options, agent: this.#agent }, request, seconds, options.signal);
        this.#answered();
        return text;
      } catch (error) {
        throw this.#failed(error, attempt);
      } finally {
        attempt.endTrial();
        ticket.end();
      }
    });
  }

  /** Robot itself has answered, which proves the credentials. */
  #answered(): void {
    this.#provenAt = this.options.clock.monotonic();
    this.#lostInARow = 0;
    this.#circuitBreaker.recordResponse();
    // Doubtful logins before this one did not fail.
    for (const takeBack of this.#uncertain.splice(0)) takeBack();
  }

  /** Updates the state for later calls, and returns the error for the caller. */
  #failed(error: unknown, attempt: CallAttempt): unknown {
    if (error instanceof RobotApiError) return this.#refused(error, attempt);
    if (error instanceof NoResponseError) return this.#unanswered(error, attempt);
    if (error instanceof RangeError) {
      return new HetznerRobotError('ROBOT_REPLY_UNKNOWN', `${attempt.name}: the reply is too long.`, { cause: error });
    }
    // The caller aborted the call.
    this.#markUncertain();
    return error;
  }

  #refused(fault: RobotApiError, { key, name, budget }: CallAttempt): unknown {
    if (fault.status === 401) return this.#block(fault);
    if (fault.isOutage) {
      const desired = fault.status === 403 ? lockoutSeconds : (fault.retryAfterSeconds ?? 0);
      return this.#cooldown(fault, name, desired);
    }
    if (fault.code !== '') this.#answered();
    if (!fault.isRateLimit) return toRobotError(fault, name);
    const seconds = fault.intervalSeconds ?? (fault.code === '' ? bareForbiddenPauseSeconds : defaultIntervalSeconds);
    budget.pause(seconds, fault.maxCalls);
    this.options.log.warn(
      { credentials: this.options.label, calls: budget.name, seconds },
      'Hetzner Robot rate limit reached',
    );
    // The caller that learned of the limit comes before all later callers.
    const place = budget.check(key);
    return place ? toBudgetError(place, name, fault) : toRobotError(fault, name, seconds);
  }

  /** From now on every call with these credentials fails. */
  #block(fault: RobotApiError): ProviderError {
    const { logins, label, user, log } = this.options;
    logins.failed();
    const hint = user.reveal().startsWith('#') ? '' : ' The names of webservice users begin with #.';
    if (!this.#loginError) log.error({ credentials: label }, 'Hetzner Robot rejected the credentials');
    this.#loginError ??= new HetznerRobotError('ROBOT_CREDENTIALS_REFUSED', `Secret: ${label}.${hint}`, {
      cause: fault,
    });
    return this.#loginError;
  }

  #unanswered(silence: NoResponseError, { name, route }: CallAttempt): unknown {
    const { kind } = silence;
    if (kind === 'late' || kind === 'lost') this.#markUncertain();
    if (kind === 'lost') this.#lostInARow += 1;
    // One lost connection does not prove an outage, and a slow route may time out once.
    const isPassing = (kind === 'lost' && this.#lostInARow < 2) || (kind === 'late' && route.isSlow === true);
    return isPassing ? toRobotError(silence, name) : this.#cooldown(silence, name);
  }

  /** Unproven credentials were sent, and the outcome is unknown: it counts as a failed login. */
  #markUncertain(): void {
    if (this.#provenAt === undefined) this.#uncertain.push(this.options.logins.failed());
  }

  /** Opens the circuit breaker for all callers. */
  #cooldown(why: RobotApiError | NoResponseError, name: string, retryAfterSeconds = 0): unknown {
    const isLate = why instanceof NoResponseError && why.kind === 'late';
    // The code of a GET: other callers have no call whose outcome is unknown.
    const { code } = toRobotError(why, 'GET') as ProviderError & { readonly code: HetznerRobotErrorCode };
    const outage = { code: isLate ? 'ROBOT_UNREACHABLE' : code, cause: why, retryAfterSeconds } as const;
    const seconds = this.#circuitBreaker.recordFailure(outage);
    return toRobotError(why, name, seconds);
  }
}

/** The addresses that a server is rented with. */
export type ServerAddresses = Pick<RobotServer, 'address' | 'ipv6Net'>;

/** A call that passed the budget. */
interface PermittedCall {
  readonly request: RobotRequest;
  /** Identifies the caller in the queue of the budget. */
  readonly key: string;
  readonly ticket: BudgetTicket;
}

/** A call in progress. */
interface CallAttempt {
  readonly route: RobotRoute;
  readonly key: string;
  readonly name: string;
  readonly budget: CallBudget;
  /** Ends the trial of credentials that have not been proven. */
  readonly endTrial: () => void;
}

const isConnectionLost = (error: unknown): boolean =>
  error instanceof ProviderError && error.cause instanceof NoResponseError && error.cause.kind === 'lost';
