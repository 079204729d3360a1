import type { Agent } from 'undici';
import type { z } from 'zod';
import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { createHttpAgent } from '../../../lib/net/http.ts';
import { type CallObserver, observeCall } from '../../../lib/observers.ts';
import { AdaptiveConcurrencyLimit } from '../../../lib/resilience/adaptive-concurrency-limit.ts';
import { ResponseCache } from '../../../lib/resilience/response-cache.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { NoResponseError, RobotApiError, toRobotError } from '../errors.ts';
import {
  type BudgetRejection,
  type BudgetTicket,
  type CallBudget,
  type CallBudgets,
  isBudgetRejection,
  toBudgetError,
} from './call-budget.ts';
import { RobotCircuitBreaker } from './circuit-breaker.ts';
import { sendRobotRequest } from './http-exchange.ts';
import type { LoginLimiter } from './login-limiter.ts';
import { type PermittedRequest, permitRequest, type RobotRequest, routeNameOf } from './permit-request.ts';
import type { RobotRoute } from './routes.ts';
import { parseRobotReply, type RobotServer } from './schema.ts';

export interface RobotAccountOptions {
  /** `https://host[:port]`. */
  readonly origin: string;
  readonly ca?: string;
  readonly user: SecretString;
  readonly password: SecretString;
  /** How people know these credentials: the name of the Secret. Never the login. */
  readonly label: string;
  /** Shared by all who log in as the same user. */
  readonly budgets: CallBudgets;
  /** Shared by all who ask the same webservice. */
  readonly logins: LoginLimiter;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: CallObserver;
  /** Spreads attempts; from 0 to 1. */
  readonly random?: () => number;
}

/** What may be named in calls. It is looked at anew for each one. */
export interface RobotScope {
  /** Numbers of the servers that have a Host object. */
  servers(): ReadonlySet<number>;
  /** Failover addresses that the configuration names; default: none. */
  failovers?(): ReadonlySet<string>;
}

export interface RobotCallOptions {
  readonly signal: AbortSignal;
  /** Seconds to wait for the answer; 30 unless said, 180 where Robot answers only when the work is done. */
  readonly seconds?: number;
}

const defaultTimeoutSeconds = { quick: 30, slow: 180 };
/** Nobody is held up here for longer: there are others who want nothing of Robot. */
const maxQueueSeconds = 3;
/** A 403 without a word is taken for a limit. */
const bareForbiddenPauseSeconds = 300;
/** What Robot's own interval is where it does not say one. */
const defaultIntervalSeconds = 3600;
/** Robot forgets failed logins after that. */
const lockoutSeconds = 600;
/** Credentials that worked a moment ago may be used by two calls at once. */
const provenForMs = 60_000;

/**
 * The webservice as one webservice user sees it: whatever asks for something passes here.
 *
 * The first 401 ends it. Whoever has that user and password is refused from then on without anything being sent, since a
 * third failed login locks out everybody behind our address; other credentials are another account. For the same reason
 * calls go one by one until the credentials are seen to work, and never more than two at once.
 */
export class RobotAccount implements Closable {
  readonly options: RobotAccountOptions;
  readonly shared: ResponseCache;
  readonly #agent: Agent;
  readonly #outage: RobotCircuitBreaker;
  readonly #lanes: AdaptiveConcurrencyLimit;
  readonly #slowLane: AdaptiveConcurrencyLimit;
  readonly #over = new AbortController();
  /** By number. */
  readonly #known = new Map<number, ServerAddresses>();
  /** By address. */
  readonly #owners = new Map<string, number>();
  #provenAt: number | undefined;
  #refusal: ProviderError | undefined;
  #lostInARow = 0;
  /** Logins that may have failed: how to take each back. */
  readonly #doubts: (() => void)[] = [];

  constructor(options: RobotAccountOptions) {
    const { clock, ca, random } = options;
    this.options = options;
    this.shared = new ResponseCache(clock);
    this.#agent = createHttpAgent({ ...(ca ? { ca } : {}), connections: 3 });
    this.#outage = new RobotCircuitBreaker(clock, random);
    this.#lanes = new AdaptiveConcurrencyLimit(clock, () =>
      Math.max(this.#isCareful ? 1 : 2, this.#slowLane.running + 1),
    );
    this.#slowLane = new AdaptiveConcurrencyLimit(clock, () => 1);
  }

  /** Ends when the account is closed: for what is asked on behalf of several. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Makes a call and reads its answer. Throws a ProviderError for everything but an abort of the signal. A call that
   * changes something is made at most once: after ROBOT_OUTCOME_UNKNOWN or DEADLINE_EXCEEDED the caller has to look.
   */
  async call<T>(request: RobotRequest, answer: z.ZodType<T>, scope: RobotScope, options: RobotCallOptions): Promise<T> {
    const permitted = this.#permit(request, scope);
    const name = routeNameOf(permitted.route);
    let text: string;
    try {
      text = await this.#send(request, permitted, scope, options);
    } catch (error) {
      if (request.method !== 'GET' || !isConnectionLost(error)) throw error;
      // Servers close idle connections in the very moment in which they are used. Nothing was changed by it.
      text = await this.#send(request, permitted, scope, options);
    }
    return parseRobotReply(name, text, answer);
  }

  /** Throws as a call would for which nothing is left of its budget, and keeps its place in line. Nothing is sent. */
  checkBudget(request: RobotRequest, scope: RobotScope): void {
    const { route, servers } = this.#permit(request, scope);
    const refusal = this.options.budgets.of(route.budget).check(servers.join() || request.path);
    if (refusal) throw toBudgetError(refusal, routeNameOf(route));
  }

  /** What Robot told of a server, so that calls can name its addresses. */
  learn(server: ServerAddresses & { readonly number: number }): void {
    const { number, address, ipv6Net } = server;
    for (const one of [address, ipv6Net]) {
      if (one === undefined) continue;
      const other = this.#owners.get(one);
      // It was the other's once.
      if (other !== undefined && other !== number) this.#known.delete(other);
      this.#owners.set(one, number);
    }
    this.#known.set(number, server);
  }

  /** As last learned. */
  addressesOf(number: number): ServerAddresses | undefined {
    return this.#known.get(number);
  }

  close(): Promise<void> {
    this.#over.abort(new ProviderError('ROBOT_UNREACHABLE', 'The connection was closed by this process.'));
    return this.#agent.destroy();
  }

  /** One more call at a time could be one failed login more. */
  get #isCareful(): boolean {
    const age = this.options.clock.monotonic() - (this.#provenAt ?? Number.NEGATIVE_INFINITY);
    return age > provenForMs || this.#outage.isOn || this.options.logins.isTense;
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
    // Who waits for its turn is a Machine, and each holds one server.
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
    if (this.#refusal) throw this.#refusal;
    this.#outage.throwIfResting();
  }

  /** Waits for its turn, and gives what ends it. */
  async #enter(isSlow: boolean, until: number, signal: AbortSignal): Promise<() => void> {
    const late = (): ProviderError =>
      this.#outage.patienceError(maxQueueSeconds) ??
      new ProviderError('ROBOT_BUSY', '', { retryAfterSeconds: maxQueueSeconds });
    if (!isSlow) return await this.#lanes.enter(until, signal, late);
    const leaveSlow = await this.#slowLane.enter(until, signal, late);
    try {
      const leave = await this.#lanes.enter(until, signal, late);
      return () => {
        leave();
        leaveSlow();
      };
    } catch (error) {
      leaveSlow();
      throw error;
    }
  }

  /** The one place that sends something, and looks once more whether it may be sent. */
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
      ticket.giveBack();
      throw error;
    }
    const { route, name, budget } = attempt;
    const seconds = options.seconds ?? (route.isSlow ? defaultTimeoutSeconds.slow : defaultTimeoutSeconds.quick);
    const allowance = { owner: this.options.label, name: budget.name, remaining: () => budget.remaining };
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

  /** The webservice itself has spoken, and knows us. */
  #answered(): void {
    this.#provenAt = this.options.clock.monotonic();
    this.#lostInARow = 0;
    this.#outage.end();
    // So what was in doubt was no failed login.
    for (const takeBack of this.#doubts.splice(0)) takeBack();
  }

  /** What follows from a failure for the calls to come, and what the caller is told. */
  #failed(error: unknown, attempt: CallAttempt): unknown {
    if (error instanceof RobotApiError) return this.#refused(error, attempt);
    if (error instanceof NoResponseError) return this.#unanswered(error, attempt);
    if (error instanceof RangeError) {
      return new ProviderError('ROBOT_REPLY_UNKNOWN', `${attempt.name}: the reply is too long.`, { cause: error });
    }
    // The caller has gone.
    this.#doubt();
    return error;
  }

  #refused(fault: RobotApiError, { key, name, budget }: CallAttempt): unknown {
    if (fault.status === 401) return this.#shut(fault);
    if (fault.isOutage) {
      const wish = fault.status === 403 ? lockoutSeconds : (fault.retryAfterSeconds ?? 0);
      return this.#rest(fault, name, wish);
    }
    if (fault.code !== '') this.#answered();
    if (!fault.isRateLimit) return toRobotError(fault, name);
    const seconds = fault.intervalSeconds ?? (fault.code === '' ? bareForbiddenPauseSeconds : defaultIntervalSeconds);
    budget.pause(seconds, fault.mostCalls);
    this.options.log.warn({ credentials: this.options.label, calls: budget.name, seconds }, 'Hetzner Robot limits us');
    // Who learned it has come before all who wait from now on.
    const place = budget.check(key);
    return place ? toBudgetError(place, name, fault) : toRobotError(fault, name, seconds);
  }

  /** From now on nobody gets anything with these credentials. */
  #shut(fault: RobotApiError): ProviderError {
    const { logins, label, user, log } = this.options;
    logins.failed();
    const hint = user.reveal().startsWith('#') ? '' : ' The names of webservice users begin with #.';
    if (!this.#refusal) log.error({ credentials: label }, 'Hetzner Robot refused the credentials');
    this.#refusal ??= new ProviderError('ROBOT_CREDENTIALS_REFUSED', `Secret: ${label}.${hint}`, { cause: fault });
    return this.#refusal;
  }

  #unanswered(silence: NoResponseError, { name, route }: CallAttempt): unknown {
    const { kind } = silence;
    if (kind === 'late' || kind === 'lost') this.#doubt();
    if (kind === 'lost') this.#lostInARow += 1;
    // One connection that was lost says little, and what Robot does slowly may be too slow for this once.
    const isPassing = (kind === 'lost' && this.#lostInARow < 2) || (kind === 'late' && route.isSlow === true);
    return isPassing ? toRobotError(silence, name) : this.#rest(silence, name);
  }

  /** Credentials that nobody saw to work were sent, and what became of it is unknown. */
  #doubt(): void {
    if (this.#provenAt === undefined) this.#doubts.push(this.options.logins.failed());
  }

  /** Everybody leaves it alone for a while. */
  #rest(why: RobotApiError | NoResponseError, name: string, wishSeconds = 0): unknown {
    const isLate = why instanceof NoResponseError && why.kind === 'late';
    // Others did not wait for anything, and nothing became of what they did not ask for.
    const { code } = toRobotError(why, 'GET') as ProviderError;
    const seconds = this.#outage.begin({ code: isLate ? 'ROBOT_UNREACHABLE' : code, cause: why }, wishSeconds);
    return toRobotError(why, name, seconds);
  }
}

/** The addresses that a server is rented with. */
export type ServerAddresses = Pick<RobotServer, 'address' | 'ipv6Net' | 'subnets'>;

/** A call that may be made. */
interface PermittedCall {
  readonly request: RobotRequest;
  /** Whose it is in the line of those who wait. */
  readonly key: string;
  readonly ticket: BudgetTicket;
}

/** A call under way. */
interface CallAttempt {
  readonly route: RobotRoute;
  readonly key: string;
  readonly name: string;
  readonly budget: CallBudget;
  /** The credentials are not in use any more, if nobody had seen them to work. */
  readonly endTrial: () => void;
}

const isConnectionLost = (error: unknown): boolean =>
  error instanceof ProviderError && error.cause instanceof NoResponseError && error.cause.kind === 'lost';
