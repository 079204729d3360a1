import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { z } from 'zod';
import type { CheckContext, Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { deadline, isDeadline, orAborted } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { type CallObserver, observed, unobserved } from '../../lib/observer.ts';
import { Pin } from '../../lib/pin.ts';
import { Secret } from '../../lib/secret.ts';
import { SharedAnswers } from '../../lib/shared-answers.ts';
import { ChangeEvents } from './change-events.ts';
import { type Endpoint, endpointOf, type TrueNasConfig } from './config.ts';
import { hasCode, toError } from './errors.ts';
import { JobEvents } from './job.ts';
import { createLimit } from './limit.ts';
import type { Login } from './login.ts';
import type { Unread } from './rpc.ts';
import { parseReply } from './schema.ts';
import { openSession, type Session } from './session.ts';

export interface TrueNasOptions extends Login {
  readonly endpoint: Endpoint;
  /** PEM; without it and without a pin the public roots are trusted. */
  readonly ca?: string;
  readonly pin?: Pin;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: CallObserver;
  /** Spreads reconnects; from 0 to 1. */
  readonly random?: () => number;
}

/** How a call is made. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Seconds to wait for the answer; 30 unless said. */
  readonly seconds?: number;
}

/**
 * TrueNAS runs ten calls of a connection, queues ten more and refuses the 21st (middleware: rpc.py). Signs of life and what others
 * of the same user ask have to fit in, too.
 */
const mostCallsInHand = 16;
const idleSeconds = 300;
/** Nobody makes do with an older answer: what is known of hundreds of machines is not kept for longer. */
export const keptSeconds = 45;
const retrySeconds = { first: 1, most: 30, refused: 60 };
/** How a connection ends that was not closed by anybody. */
const silentEnd = 0;
const isLost = (host: string) =>
  new ProviderError('TRUENAS_UNREACHABLE', `${host}: the connection was lost.`, {
    retryAfterSeconds: knownTroubleSeconds,
  });
/** A system that comes back answers sooner; one that is silent takes five times as long to be found out. */
const knownTroubleSeconds = 3;

/**
 * A TrueNAS system: one connection that all steps of the process share. It opens with the first call, is made again when
 * it broke, and closes when nobody asked for anything for five minutes.
 *
 * After a failed attempt, calls fail at once with the same error until the next attempt is due, so that fifty machines
 * waiting for one system do not storm it when it comes back, and a wrong key is not tried in a loop. That attempt is
 * waited for by one caller; the others are held up by it for a moment only, so that there are workers for other systems.
 */
export class TrueNas implements Closable {
  readonly host: string;
  readonly jobs: JobEvents;
  /** What all Machines on the system ask alike. A change of ours makes all of it stale. */
  readonly shared: SharedAnswers;
  readonly #changes: ChangeEvents;
  readonly #options: TrueNasOptions;
  readonly #limit = createLimit(mostCallsInHand);
  readonly #over = new AbortController();
  #session: Session | undefined;
  #opening: { readonly session: Promise<Session>; readonly since: number } | undefined;
  #failures = 0;
  /** Why there is no connection, and until when none is tried. */
  #lastFailure: { error: ProviderError; until: number } | undefined;
  #lastUse = 0;

  constructor(options: TrueNasOptions) {
    // Any number of calls in line listens to it.
    setMaxListeners(0, this.#over.signal);
    this.host = options.endpoint.host;
    this.#options = options;
    this.jobs = new JobEvents(this, options.clock);
    this.shared = new SharedAnswers(options.clock, { seconds: keptSeconds, over: this.#over.signal });
    this.#changes = new ChangeEvents(this, options.clock, options.log);
  }

  /**
   * Has `listener` called a second or so after somebody else changed machines, devices or datasets, as far as TrueNAS tells of it, and
   * when the connection breaks, and after each reconnect. What was `shared` is forgotten by then. `listener` must not throw; what is returned ends it.
   */
  onChange(listener: () => void): () => void {
    return this.#changes.listen(listener);
  }

  /** By the monotonic clock: what was answered before may be old, since others changed something or could have done so unheard. */
  get quietSince(): number {
    return this.#changes.quietSince;
  }

  /** Aborted when it is closed. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get options(): TrueNasOptions {
    return this.#options;
  }

  /**
   * A call that changes nothing. When the connection breaks before the answer it is made once more.
   * Throws a ProviderError for everything but an abort of the signal.
   */
  async read<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>, options: CallOptions): Promise<T> {
    return await this.#twice(() => this.#call(method, params, schema, options));
  }

  /** The same, and the answer is left as it came: who asks for the same again and again only reads what is new. */
  async readLater(method: string, params: readonly unknown[], options: CallOptions): Promise<Unread> {
    return await this.#twice(() =>
      this.#observed(method, options, (session) =>
        this.#ask(session, method, options, (limited) => session.rpc.requestUnread(method, params, limited)),
      ),
    );
  }

  /**
   * A call that changes something. It is made at most once: when its outcome is unknown (TRUENAS_OUTCOME_UNKNOWN,
   * DEADLINE_EXCEEDED) the caller has to look. A session that had ended did nothing, so that is tried again.
   */
  async change<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>, options: CallOptions): Promise<T> {
    const end = this.#changes.begin(method, params);
    try {
      return await this.#call(method, params, schema, options);
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_SESSION_ENDED')) throw error;
      return await this.#call(method, params, schema, options);
    } finally {
      end();
      this.shared.forget();
    }
  }

  /** The session in use, opened if need be. */
  async session(signal: AbortSignal): Promise<Session> {
    signal.throwIfAborted();
    if (this.#over.signal.aborted)
      throw new ProviderError('TRUENAS_UNREACHABLE', 'The connection was closed by this process.');
    this.#lastUse = this.#options.clock.monotonic();
    if (this.#session?.rpc.open) return this.#session;
    if (this.#opening) return await this.#waitInLine(this.#opening, signal);
    this.#throwIfTooEarly();
    const session = this.#open().finally(() => {
      this.#opening = undefined;
    });
    this.#opening = { session, since: this.#options.clock.monotonic() };
    return await orAborted(session, signal);
  }

  async #waitInLine(opening: { session: Promise<Session>; since: number }, signal: AbortSignal): Promise<Session> {
    const trouble = this.#lastFailure?.error;
    if (!trouble) return await orAborted(opening.session, signal);
    const { clock } = this.#options;
    const enough = new AbortController();
    const leftMs = opening.since + knownTroubleSeconds * 1000 - clock.monotonic();
    if (leftMs <= 0) throw trouble;
    const late = clock.sleep(leftMs, enough.signal).then(() => Promise.reject(trouble));
    try {
      return await orAborted(Promise.race([opening.session, late]), signal);
    } finally {
      enough.abort();
      // It lost the race, or nobody waits any more.
      late.catch(() => {});
    }
  }

  /** Ends everything in hand. The other side gets a second to say goodbye. */
  async close(): Promise<void> {
    this.#over.abort(new ProviderError('TRUENAS_UNREACHABLE', 'The connection was closed by this process.'));
    const rpc = this.#session?.rpc;
    if (!rpc) return;
    rpc.close();
    const patience = new AbortController();
    await Promise.race([rpc.closed, this.#options.clock.sleep(1000, patience.signal).catch(() => {})]);
    patience.abort();
    rpc.terminate();
  }

  async #twice<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_OUTCOME_UNKNOWN', 'TRUENAS_SESSION_ENDED')) throw error;
      return await call();
    }
  }

  async #call<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>, options: CallOptions): Promise<T> {
    return await this.#observed(method, options, async (session) => {
      const send = (limited: AbortSignal) => session.rpc.request(method, params, limited);
      return parseReply(method, await this.#ask(session, method, options, send), schema);
    });
  }

  async #observed<T>(method: string, { signal }: CallOptions, work: (session: Session) => Promise<T>): Promise<T> {
    const about = { system: 'truenas', name: method, signal };
    return await this.#limit(async () => {
      const session = await this.session(signal);
      return await observed(this.#options.observer ?? unobserved, about, () => work(session));
    }, signal);
  }

  async #ask<T>(
    session: Session,
    method: string,
    options: CallOptions,
    send: (limited: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limited = deadline(options.seconds ?? 30, options.signal);
    try {
      return await send(limited);
    } catch (error) {
      options.signal.throwIfAborted();
      if (isDeadline(error)) throw new ProviderError('DEADLINE_EXCEEDED', `TrueNAS, ${method}.`, { cause: error });
      const known = toError(error, method);
      // The server forgot who we are: a new connection logs in again.
      if (hasCode(known, 'TRUENAS_SESSION_ENDED')) session.rpc.close();
      throw known;
    }
  }

  async #open(): Promise<Session> {
    const { clock, log } = this.#options;
    try {
      const onNotification = (method: string, params: unknown): void => {
        this.jobs.receive(method, params);
        this.#changes.receive(method, params);
      };
      const session = await openSession({ ...this.#options, onNotification }, this.#over.signal);
      this.#session = session;
      this.#failures = 0;
      this.#lastFailure = undefined;
      this.#watch(session);
      this.#changes.opened(session.rpc);
      log.debug({ host: this.host }, 'connected to TrueNAS');
      return session;
    } catch (error) {
      this.#over.signal.throwIfAborted();
      this.#failures += 1;
      const known =
        error instanceof ProviderError ? error : new ProviderError('TRUENAS_REPLY_UNKNOWN', '', { cause: error });
      const seconds = this.#pauseSeconds(known);
      const failure = withRetryAfter(known, seconds);
      this.#lastFailure = { error: failure, until: clock.monotonic() + seconds * 1000 };
      throw failure;
    }
  }

  #throwIfTooEarly(): void {
    if (!this.#lastFailure) return;
    const { error, until } = this.#lastFailure;
    if (this.#options.clock.monotonic() < until) throw error;
  }

  #pauseSeconds(error: ProviderError): number {
    const { random = Math.random } = this.#options;
    if (error.retry === 'after-change') return retrySeconds.refused;
    const full = Math.min(retrySeconds.most, retrySeconds.first * 2 ** (this.#failures - 1));
    return full * (0.5 + random() / 2);
  }

  /** Forgets a session that ended, and ends one that nobody uses. */
  #watch(session: Session): void {
    const { clock, log } = this.#options;
    const ended = new AbortController();
    session.rpc.closed
      .then((lost) => {
        if (this.#session === session) this.#session = undefined;
        const broke = lost.closeCode === silentEnd;
        if (broke) this.#lastFailure = { error: isLost(this.host), until: 0 };
        this.#changes.ended({ broke });
        this.jobs.forget();
        ended.abort(lost);
        log.debug({ host: this.host, cause: lost.message }, 'connection to TrueNAS ended');
      })
      .catch((error: unknown) => log.error({ err: error }, 'the end of a connection could not be handled'));
    const closeWhenIdle = async () => {
      for (;;) {
        await clock.sleep((idleSeconds / 2) * 1000, ended.signal);
        if (clock.monotonic() - this.#lastUse > idleSeconds * 1000) return session.rpc.close();
      }
    };
    // It ends with the session, by an abort that says nothing new.
    closeWhenIdle().catch(() => {});
  }
}

/** The system that a configuration names, connected with its credentials. One for each system and key. */
export function connect(context: CheckContext<TrueNasConfig>): TrueNas {
  const { config, credentials, connections, clock, log } = context;
  const { observer } = connections;
  // Files that Secrets are made from like to end with a line break.
  const trimmed = (secret: Secret | undefined) => new Secret(secret?.reveal().trim() ?? '');
  const [username, apiKey] = [trimmed(credentials['username']), trimmed(credentials['apiKey'])];
  if (username.reveal() === '' || apiKey.reveal() === '') {
    throw new ProviderError(
      'CREDENTIALS_MISSING',
      `Secret ${config.credentialsRef.name} needs the keys username and apiKey.`,
    );
  }
  const endpoint = endpointOf(config);
  const trusted = trustedBy(config);
  const { login } = config;
  // A new key, CA or pin is a new connection: what was refused with the old one says nothing about it.
  const print = createHash('sha256')
    .update(JSON.stringify([username.reveal(), apiKey.reveal(), trusted.print, login]))
    .digest('hex');
  return connections.get(
    `truenas:${endpoint.socketUrl}:${print}`,
    () => new TrueNas({ endpoint, ...trusted, login, username, apiKey, clock, log, observer }),
  );
}

/** What proves that the system is the right one, as both of its doors take it, and a word for it. */
export function trustedBy({ caBundle: ca, tlsFingerprint }: Pick<TrueNasConfig, 'caBundle' | 'tlsFingerprint'>): Pick<
  TrueNasOptions,
  'ca' | 'pin'
> & {
  readonly print: string;
} {
  if (tlsFingerprint !== undefined) {
    const pin = new Pin(tlsFingerprint);
    return { pin, print: pin.fingerprint };
  }
  return ca ? { ca, print: ca } : { print: '' };
}

/** The same error, with the time at which another attempt makes sense. */
function withRetryAfter(error: ProviderError, seconds: number): ProviderError {
  return new ProviderError(error.code, error.detail, { cause: error.cause, retryAfterSeconds: seconds });
}
