import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import type { Closable, PlatformContext } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { deadlineSignal, isDeadlineError } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { CertificatePin } from '../../../lib/net/certificate-pin.ts';
import { type CallObserver, noopCallObserver, observeCall } from '../../../lib/observers.ts';
import { ResponseCache } from '../../../lib/resilience/response-cache.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { type SystemEndpoint, systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { hasCode, toTrueNasError } from '../errors.ts';
import type { TrueNasCredentials } from './auth/login.ts';
import { ChangeEvents } from './change-events.ts';
import { TrueNasConnection } from './connection.ts';
import { JobEvents } from './job-events.ts';
import type { UnparsedReply } from './rpc.ts';
import { parseTrueNasReply } from './schema.ts';
import type { TrueNasSession } from './session.ts';

export interface TrueNasClientOptions extends TrueNasCredentials {
  readonly endpoint: SystemEndpoint;
  /** PEM; without it and without a pin the public roots are trusted. */
  readonly ca?: string;
  readonly pin?: CertificatePin;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: CallObserver;
  /** Spreads reconnects; from 0 to 1. */
  readonly random?: () => number;
}

/** How a call is made. */
export interface TrueNasCallOptions {
  readonly signal: AbortSignal;
  /** Seconds to wait for the answer; 30 unless said. */
  readonly seconds?: number;
}

/** A call that goes by the one connection; by whichever has room unless said. */
interface RoutedCallOptions extends TrueNasCallOptions {
  readonly by?: TrueNasConnection;
}

/** So many calls of a connection TrueNAS works on at a time; more of them wait there (middleware: rpc.py). */
const maxConcurrentCalls = 10;
/** Nobody makes do with an older answer: what is known of hundreds of machines is not kept for longer. */
export const maxSharedReadAgeSeconds = 45;

/**
 * A TrueNAS system, for all steps of the process. They share a connection, on which the system tells of jobs and changes; when it has
 * more calls than are worked on at a time, those beyond go by a second one. That one is a help and nothing else: while it cannot
 * be had, they wait in line.
 */
export class TrueNasClient implements Closable {
  readonly host: string;
  readonly jobs: JobEvents;
  /** What all Machines on the system ask alike. A change of ours makes all of it stale. */
  readonly shared: ResponseCache;
  readonly #changes: ChangeEvents;
  readonly #options: TrueNasClientOptions;
  readonly #over = new AbortController();
  readonly #first: TrueNasConnection;
  readonly #second: TrueNasConnection;

  constructor(options: TrueNasClientOptions) {
    // Any number of calls in line listens to it.
    setMaxListeners(0, this.#over.signal);
    this.host = options.endpoint.host;
    this.#options = options;
    this.jobs = new JobEvents(this, options.clock);
    this.shared = new ResponseCache(options.clock, { seconds: maxSharedReadAgeSeconds, over: this.#over.signal });
    this.#changes = new ChangeEvents(this, options.clock, options.log);
    const { signal: over } = this.#over;
    this.#first = new TrueNasConnection({
      ...options,
      over,
      onNotification: (method, params) => {
        this.jobs.receive(method, params);
        this.#changes.receive(method, params);
      },
      onOpen: (rpc) => this.#changes.opened(rpc),
      onEnd: (end) => {
        this.#changes.ended(end);
        this.jobs.forget();
      },
    });
    this.#second = new TrueNasConnection({ ...options, over, onNotification: () => {} });
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

  get options(): TrueNasClientOptions {
    return this.#options;
  }

  /**
   * A call that changes nothing. When the connection breaks before the answer it is made once more.
   * Throws a ProviderError for everything but an abort of the signal.
   */
  async read<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    options: TrueNasCallOptions,
  ): Promise<T> {
    return await this.#twice(() => this.#call(method, params, schema, options));
  }

  /** The same, and the answer is left as it came: who asks for the same again and again only reads what is new. */
  async readLater(method: string, params: readonly unknown[], options: TrueNasCallOptions): Promise<UnparsedReply> {
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
  async change<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    options: TrueNasCallOptions,
  ): Promise<T> {
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

  /** Has the system tell of a collection of things, or of its jobs, for as long as the session in use lives. */
  async subscribe(collection: string, { signal }: TrueNasCallOptions): Promise<void> {
    await this.#twice(() => this.#call('core.subscribe', [collection], z.unknown(), { signal, by: this.#first }));
  }

  /** The session on which the system tells of what happens, opened if need be. */
  async session(signal: AbortSignal): Promise<TrueNasSession> {
    return await this.#first.session(signal);
  }

  /** Ends everything in hand. */
  async close(): Promise<void> {
    this.#over.abort(new ProviderError('TRUENAS_UNREACHABLE', 'The connection was closed by this process.'));
    await Promise.all([this.#first.close(), this.#second.close()]);
  }

  async #twice<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_OUTCOME_UNKNOWN', 'TRUENAS_SESSION_ENDED')) throw error;
      return await call();
    }
  }

  async #call<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    options: RoutedCallOptions,
  ): Promise<T> {
    return await this.#observed(method, options, async (session) => {
      const send = (limited: AbortSignal) => session.rpc.request(method, params, limited);
      return parseTrueNasReply(method, await this.#ask(session, method, options, send), schema);
    });
  }

  async #observed<T>(
    method: string,
    options: RoutedCallOptions,
    work: (session: TrueNasSession) => Promise<T>,
  ): Promise<T> {
    const { signal, by = this.#roomier() } = options;
    const about = { system: 'truenas', name: method, signal };
    return await by.run(async () => {
      // Whoever waited for a turn there does not suffer from its end.
      if (by === this.#second && !by.isOpen) return await this.#observed(method, { ...options, by: this.#first }, work);
      const session = await by.session(signal);
      return await observeCall(this.#options.observer ?? noopCallObserver, about, () => work(session));
    }, signal);
  }

  /** The connection for the next call. A system that cannot be reached is tried by one alone. */
  #roomier(): TrueNasConnection {
    if (this.#first.calls < maxConcurrentCalls || !this.#first.isOpen) return this.#first;
    if (this.#second.isOpen) return this.#second.calls < this.#first.calls ? this.#second : this.#first;
    this.#second.openAside();
    return this.#first;
  }

  async #ask<T>(
    session: TrueNasSession,
    method: string,
    options: TrueNasCallOptions,
    send: (limited: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limited = deadlineSignal(options.seconds ?? 30, options.signal);
    try {
      return await send(limited);
    } catch (error) {
      options.signal.throwIfAborted();
      if (isDeadlineError(error)) throw new ProviderError('DEADLINE_EXCEEDED', `TrueNAS, ${method}.`, { cause: error });
      const known = toTrueNasError(error, method);
      // The server forgot who we are: a new connection logs in again.
      if (hasCode(known, 'TRUENAS_SESSION_ENDED')) session.rpc.close();
      throw known;
    }
  }
}

/** The system that a configuration names, connected with its credentials. One for each system and key. */
export function connectTrueNas(context: PlatformContext<TrueNasConfig>): TrueNasClient {
  const { config, credentials, connections, clock, log } = context;
  const { observer } = connections;
  // Files that Secrets are made from like to end with a line break.
  const trimmed = (secret: SecretString | undefined) => new SecretString(secret?.reveal().trim() ?? '');
  const [username, apiKey] = [trimmed(credentials['username']), trimmed(credentials['apiKey'])];
  if (username.reveal() === '' || apiKey.reveal() === '') {
    throw new ProviderError(
      'CREDENTIALS_MISSING',
      `Secret ${config.credentialsRef.name} needs the keys username and apiKey.`,
    );
  }
  const endpoint = systemEndpointOf(config);
  const trusted = trustAnchorsOf(config);
  const { login } = config;
  // A new key, CA or pin is a new connection: what was refused with the old one says nothing about it.
  const print = createHash('sha256')
    .update(JSON.stringify([username.reveal(), apiKey.reveal(), trusted.print, login]))
    .digest('hex');
  return connections.get(
    `truenas:${endpoint.socketUrl}:${print}`,
    () => new TrueNasClient({ endpoint, ...trusted, login, username, apiKey, clock, log, observer }),
  );
}

/** What proves that the system is the right one, as both of its doors take it, and a word for it. */
export function trustAnchorsOf({
  caBundle: ca,
  tlsFingerprint,
}: Pick<TrueNasConfig, 'caBundle' | 'tlsFingerprint'>): Pick<TrueNasClientOptions, 'ca' | 'pin'> & {
  readonly print: string;
} {
  if (tlsFingerprint !== undefined) {
    const pin = new CertificatePin(tlsFingerprint);
    return { pin, print: pin.fingerprint };
  }
  return ca ? { ca, print: ca } : { print: '' };
}
