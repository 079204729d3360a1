import type { Agent } from 'undici';
import type { z } from 'zod';
import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { httpAgent } from '../../../lib/http.ts';
import type { Log } from '../../../lib/log.ts';
import { type CallObserver, observed } from '../../../lib/observer.ts';
import type { Secret } from '../../../lib/secret.ts';
import { SharedAnswers } from '../../../lib/shared-answers.ts';
import { type Budget, type Budgets, isRefusal, type Refusal, type Ticket, toBudgetError } from './budget.ts';
import { NoAnswer, RobotFault, toError } from './errors.ts';
import { exchange } from './exchange.ts';
import { Lanes } from './lanes.ts';
import type { Logins } from './logins.ts';
import { Outage } from './outage.ts';
import { nameOf, type Permitted, permit, type Request } from './permit.ts';
import type { Route } from './routes.ts';
import { parseReply, type Server } from './schema.ts';

export interface AccountOptions {
  /** `https://host[:port]`. */
  readonly origin: string;
  readonly ca?: string;
  readonly user: Secret;
  readonly password: Secret;
  /** How people know these credentials: the name of the Secret. Never the login. */
  readonly label: string;
  /** Shared by all who log in as the same user. */
  readonly budgets: Budgets;
  /** Shared by all who ask the same webservice. */
  readonly logins: Logins;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: CallObserver;
  /** Spreads attempts; from 0 to 1. */
  readonly random?: () => number;
}

/** What may be named in calls. It is looked at anew for each one. */
export interface Scope {
  /** Numbers of the servers that have a Host object. */
  servers(): ReadonlySet<number>;
  /** Failover addresses that the configuration names; default: none. */
  failovers?(): ReadonlySet<string>;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  /** Seconds to wait for the answer; 30 unless said, 180 where Robot answers only when the work is done. */
  readonly seconds?: number;
}

const usualSeconds = { quick: 30, slow: 180 };
/** Nobody is held up here for longer: there are others who want nothing of Robot. */
const patienceSeconds = 3;
/** A 403 without a word is taken for a limit. */
const silentLimitSeconds = 300;
/** What Robot's own interval is where it does not say one. */
const intervalSeconds = 3600;
/** Robot forgets failed logins after that. */
const lockedOutSeconds = 600;
/** Credentials that worked a moment ago may be used by two calls at once. */
const freshMs = 60_000;

/**
 * The webservice as one webservice user sees it: whatever asks for something passes here.
 *
 * The first 401 ends it. Whoever has that user and password is refused from then on without anything being sent, since a
 * third failed login locks out everybody behind our address; other credentials are another account. For the same reason
 * calls go one by one until the credentials are seen to work, and never more than two at once.
 */
export class RobotAccount implements Closable {
  readonly options: AccountOptions;
  readonly shared: SharedAnswers;
  readonly #agent: Agent;
  readonly #outage: Outage;
  readonly #lanes: Lanes;
  readonly #slowLane: Lanes;
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

  constructor(options: AccountOptions) {
    const { clock, ca, random } = options;
    this.options = options;
    this.shared = new SharedAnswers(clock);
    this.#agent = httpAgent({ ...(ca ? { ca } : {}), connections: 3 });
    this.#outage = new Outage(clock, random);
    this.#lanes = new Lanes(clock, () => Math.max(this.#isCareful ? 1 : 2, this.#slowLane.running + 1));
    this.#slowLane = new Lanes(clock, () => 1);
  }

  /** Ends when the account is closed: for what is asked on behalf of several. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /**
   * Makes a call and reads its answer. Throws a ProviderError for everything but an abort of the signal. A call that
   * changes something is made at most once: after ROBOT_OUTCOME_UNKNOWN or DEADLINE_EXCEEDED the caller has to look.
   */
  async call<T>(request: Request, answer: z.ZodType<T>, scope: Scope, options: CallOptions): Promise<T> {
    const permitted = this.#permit(request, scope);
    const name = nameOf(permitted.route);
    let text: string;
    try {
      text = await this.#send(request, permitted, scope, options);
    } catch (error) {
      if (request.method !== 'GET' || !isLost(error)) throw error;
      // Servers close idle connections in the very moment in which they are used. Nothing was changed by it.
      text = await this.#send(request, permitted, scope, options);
    }
    return parseReply(name, text, answer);
  }

  /** Throws as a call would for which nothing is left of its budget, and keeps its place in line. Nothing is sent. */
  checkBudget(request: Request, scope: Scope): void {
    const { route, servers } = this.#permit(request, scope);
    const refusal = this.options.budgets.of(route.budget).check(servers.join() || request.path);
    if (refusal) throw toBudgetError(refusal, nameOf(route));
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
    return age > freshMs || this.#outage.isOn || this.options.logins.isTense;
  }

  #permit(request: Request, scope: Scope): Permitted {
    return permit(request, {
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

  async #send(request: Request, { route, servers }: Permitted, scope: Scope, options: CallOptions): Promise<string> {
    const { clock, budgets } = this.options;
    const until = clock.monotonic() + patienceSeconds * 1000;
    const budget = budgets.of(route.budget);
    // Who waits for its turn is a Machine, and each holds one server.
    const key = servers.length > 0 ? servers.join() : request.path;
    for (;;) {
      this.#throwIfShut();
      const leave = await this.#enter(route.isSlow === true, until, options.signal);
      let answer: Ticket | Refusal;
      try {
        this.#throwIfShut();
        answer = budget.take(key);
        if (!isRefusal(answer)) return await this.#attempt({ request, key, ticket: answer }, scope, options);
      } finally {
        leave();
      }
      if (clock.monotonic() + answer.seconds * 1000 > until) throw toBudgetError(answer, nameOf(route));
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
      this.#outage.patienceError(patienceSeconds) ??
      new ProviderError('ROBOT_BUSY', '', { retryAfterSeconds: patienceSeconds });
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
  async #attempt({ request, key, ticket }: Turn, scope: Scope, options: CallOptions): Promise<string> {
    let attempt: Attempt;
    try {
      const { route } = this.#permit(request, scope);
      const { budgets, logins } = this.options;
      const endTrial = this.#provenAt === undefined ? logins.begin() : () => {};
      attempt = { route, key, name: nameOf(route), budget: budgets.of(route.budget), endTrial };
    } catch (error) {
      ticket.giveBack();
      throw error;
    }
    const { route, name, budget } = attempt;
    const seconds = options.seconds ?? (route.isSlow ? usualSeconds.slow : usualSeconds.quick);
    const allowance = { owner: this.options.label, name: budget.name, remaining: () => budget.remaining };
    const about = { system: 'hetzner-robot', name, signal: options.signal, allowance };
    return await observed(this.options.observer, about, async () => {
      try {
        const text = await exchange({ ...this.options, agent: this.#agent }, request, seconds, options.signal);
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
  #failed(error: unknown, attempt: Attempt): unknown {
    if (error instanceof RobotFault) return this.#refused(error, attempt);
    if (error instanceof NoAnswer) return this.#unanswered(error, attempt);
    if (error instanceof RangeError) {
      return new ProviderError('ROBOT_REPLY_UNKNOWN', `${attempt.name}: the reply is too long.`, { cause: error });
    }
    // The caller has gone.
    this.#doubt();
    return error;
  }

  #refused(fault: RobotFault, { key, name, budget }: Attempt): unknown {
    if (fault.status === 401) return this.#shut(fault);
    if (fault.isOutage) {
      const wish = fault.status === 403 ? lockedOutSeconds : (fault.retryAfterSeconds ?? 0);
      return this.#rest(fault, name, wish);
    }
    if (fault.code !== '') this.#answered();
    if (!fault.isRateLimit) return toError(fault, name);
    const seconds = fault.intervalSeconds ?? (fault.code === '' ? silentLimitSeconds : intervalSeconds);
    budget.pause(seconds, fault.mostCalls);
    this.options.log.warn({ credentials: this.options.label, calls: budget.name, seconds }, 'Hetzner Robot limits us');
    // Who learned it has come before all who wait from now on.
    const place = budget.check(key);
    return place ? toBudgetError(place, name, fault) : toError(fault, name, seconds);
  }

  /** From now on nobody gets anything with these credentials. */
  #shut(fault: RobotFault): ProviderError {
    const { logins, label, user, log } = this.options;
    logins.failed();
    const hint = user.reveal().startsWith('#') ? '' : ' The names of webservice users begin with #.';
    if (!this.#refusal) log.error({ credentials: label }, 'Hetzner Robot refused the credentials');
    this.#refusal ??= new ProviderError('ROBOT_CREDENTIALS_REFUSED', `Secret: ${label}.${hint}`, { cause: fault });
    return this.#refusal;
  }

  #unanswered(silence: NoAnswer, { name, route }: Attempt): unknown {
    const { kind } = silence;
    if (kind === 'late' || kind === 'lost') this.#doubt();
    if (kind === 'lost') this.#lostInARow += 1;
    // One connection that was lost says little, and what Robot does slowly may be too slow for this once.
    const isPassing = (kind === 'lost' && this.#lostInARow < 2) || (kind === 'late' && route.isSlow === true);
    return isPassing ? toError(silence, name) : this.#rest(silence, name);
  }

  /** Credentials that nobody saw to work were sent, and what became of it is unknown. */
  #doubt(): void {
    if (this.#provenAt === undefined) this.#doubts.push(this.options.logins.failed());
  }

  /** Everybody leaves it alone for a while. */
  #rest(why: RobotFault | NoAnswer, name: string, wishSeconds = 0): unknown {
    const isLate = why instanceof NoAnswer && why.kind === 'late';
    // Others did not wait for anything, and nothing became of what they did not ask for.
    const { code } = toError(why, 'GET') as ProviderError;
    const seconds = this.#outage.begin({ code: isLate ? 'ROBOT_UNREACHABLE' : code, cause: why }, wishSeconds);
    return toError(why, name, seconds);
  }
}

/** The addresses that a server is rented with. */
export type ServerAddresses = Pick<Server, 'address' | 'ipv6Net' | 'subnets'>;

/** A call that may be made. */
interface Turn {
  readonly request: Request;
  /** Whose it is in the line of those who wait. */
  readonly key: string;
  readonly ticket: Ticket;
}

/** A call under way. */
interface Attempt {
  readonly route: Route;
  readonly key: string;
  readonly name: string;
  readonly budget: Budget;
  /** The credentials are not in use any more, if nobody had seen them to work. */
  readonly endTrial: () => void;
}

const isLost = (error: unknown): boolean =>
  error instanceof ProviderError && error.cause instanceof NoAnswer && error.cause.kind === 'lost';
