import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import type { Closable } from '../../../engine/connection.ts';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Clock } from '../../../lib/clock.ts';
import { deadlineSignal, isDeadlineError } from '../../../lib/deadline.ts';
import type { Log } from '../../../lib/log.ts';
import { CertificatePin } from '../../../lib/net/certificate-pin.ts';
import { type CallObserver, noopCallObserver, observeCall } from '../../../lib/observers.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { type SystemEndpoint, systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { TrueNasError } from '../error-codes.ts';
import { hasCode, toTrueNasError } from '../errors.ts';
import type { TrueNasCredentials } from './auth/login.ts';
import { ChangeEvents } from './change-events.ts';
import { TrueNasConnection } from './connection.ts';
import { JobEvents } from './job-events.ts';
import type { UnparsedReply } from './rpc.ts';
import { parseTrueNasReply } from './schema.ts';
import type { TrueNasSession } from './session.ts';
import type { TrueNasCallOptions } from './subscriber.ts';

export interface TrueNasClientOptions extends TrueNasCredentials {
  readonly endpoint: SystemEndpoint;
  /** PEM; without CA and pin the public root certificates are trusted. */
  readonly ca?: string;
  readonly pin?: CertificatePin;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: CallObserver;
  /** Returns a number from 0 to 1 for the jitter of reconnects. */
  readonly random?: () => number;
}

/** A call over the first connection only; by default any connection with free capacity is used. */
interface RoutedCallOptions extends TrueNasCallOptions {
  readonly by?: TrueNasConnection;
}

/** Calls per connection that TrueNAS processes at a time; more of them are queued there (middleware: rpc.py). */
const maxConcurrentCalls = 10;

/**
 * Called before a call that changes something. The returned function is called after it, with its answer, or without
 * one when it failed. Neither may throw.
 */
export type WriteObserver = (
  method: string,
  params: readonly unknown[],
) => (result?: { readonly answer: unknown }) => void;

/**
 * A TrueNAS system, shared by all steps of the process. The first connection also carries the events of jobs and
 * changes. When it has more calls than TrueNAS processes at a time, further calls use a second one. The second
 * connection is optional: while it cannot be opened, calls wait for the first.
 */
export class TrueNasClient implements Closable {
  readonly host: string;
  readonly jobs: JobEvents;
  readonly changes: ChangeEvents;
  #observeWrite: WriteObserver = () => () => {};
  readonly #options: TrueNasClientOptions;
  readonly #isClosed = new AbortController();
  readonly #first: TrueNasConnection;
  readonly #second: TrueNasConnection;

  constructor(options: TrueNasClientOptions) {
    // Any number of queued calls listens to this signal.
    setMaxListeners(0, this.#isClosed.signal);
    this.host = options.endpoint.host;
    this.#options = options;
    this.jobs = new JobEvents(this, options.clock);
    this.changes = new ChangeEvents(this, options.clock, options.log);
    const { signal: over } = this.#isClosed;
    this.#first = new TrueNasConnection({
      ...options,
      over,
      onNotification: (method, params) => {
        this.jobs.receive(method, params);
        this.changes.receive(method, params);
      },
      onOpen: (rpc) => this.changes.opened(rpc),
      onEnd: (end) => {
        this.changes.ended(end);
        this.jobs.forget();
      },
    });
    this.#second = new TrueNasConnection({ ...options, over, onNotification: () => {} });
  }

  /** The observer of all calls that change something. */
  observeWrites(observer: WriteObserver): void {
    this.#observeWrite = observer;
  }

  /** Aborted when the client is closed. */
  get over(): AbortSignal {
    return this.#isClosed.signal;
  }

  get options(): TrueNasClientOptions {
    return this.#options;
  }

  /**
   * A call that changes nothing. When the connection breaks before the answer it is retried once. Throws a
   * ProviderError for everything but an abort of the signal.
   */
  async read<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    options: TrueNasCallOptions,
  ): Promise<T> {
    return await this.#retryOnce(() => this.#call(method, params, schema, options));
  }

  /** The same without parsing the answer, so that a caller that polls parses only what has changed. */
  async readLater(method: string, params: readonly unknown[], options: TrueNasCallOptions): Promise<UnparsedReply> {
    return await this.#retryOnce(() =>
      this.#observed(method, options, (session) =>
        this.#ask(session, method, options, (limited) => session.rpc.requestUnread(method, params, limited)),
      ),
    );
  }

  /**
   * A call that changes something. It is sent at most once: when its outcome is unknown (TRUENAS_OUTCOME_UNKNOWN,
   * DEADLINE_EXCEEDED) the caller has to read the state. An expired session changes nothing, so that call is retried.
   */
  async change<T>(
    method: string,
    params: readonly unknown[],
    schema: z.ZodType<T>,
    options: TrueNasCallOptions,
  ): Promise<T> {
    return await this.observedWrite(method, params, async () => {
      try {
        return await this.#call(method, params, schema, options);
      } catch (error) {
        if (!hasCode(error, 'TRUENAS_SESSION_ENDED')) throw error;
        return await this.#call(method, params, schema, options);
      }
    });
  }

  /** Reports work that changes something by other means than a call, e.g. an upload, to the observer of writes. */
  async observedWrite<T>(method: string, params: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const end = this.#observeWrite(method, params);
    try {
      const answer = await work();
      end({ answer });
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Subscribes to a collection or to jobs, for the lifetime of the current session. */
  async subscribe(collection: string, { signal }: TrueNasCallOptions): Promise<void> {
    await this.#retryOnce(() => this.#call('core.subscribe', [collection], z.unknown(), { signal, by: this.#first }));
  }

  /** The session that receives events, opened if necessary. */
  async session(signal: AbortSignal): Promise<TrueNasSession> {
    return await this.#first.session(signal);
  }

  /** Ends all calls in progress. */
  async close(): Promise<void> {
    this.#isClosed.abort(new TrueNasError('TRUENAS_UNREACHABLE', 'The connection was closed by this process.'));
    await Promise.all([this.#first.close(), this.#second.close()]);
  }

  async #retryOnce<T>(call: () => Promise<T>): Promise<T> {
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
    const { signal, by = this.#largeConnection() } = options;
    const about = { system: 'truenas', name: method, signal };
    return await by.run(async () => {
      // A call that was still queued for that connection is not affected by its end.
      if (by === this.#second && !by.isOpen) return await this.#observed(method, { ...options, by: this.#first }, work);
      const session = await by.session(signal);
      return await observeCall(this.#options.observer ?? noopCallObserver, about, () => work(session));
    }, signal);
  }

  /** The connection for the next call. An unreachable system is tried over one connection only. */
  #largeConnection(): TrueNasConnection {
    if (this.#first.calls < maxConcurrentCalls || !this.#first.isOpen) return this.#first;
    if (this.#second.isOpen) return this.#second.calls < this.#first.calls ? this.#second : this.#first;
    this.#second.openSeparate();
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
      if (isDeadlineError(error)) throw new TrueNasError('DEADLINE_EXCEEDED', `TrueNAS, ${method}.`, { cause: error });
      const known = toTrueNasError(error, method);
      // The server has dropped our login: a new connection logs in again.
      if (hasCode(known, 'TRUENAS_SESSION_ENDED')) session.rpc.close();
      throw known;
    }
  }
}

/** The client of the configured system with its credentials. One for each system and key. */
export function connectTrueNas(context: PlatformContext<TrueNasConfig>): TrueNasClient {
  const { config, credentials, connections, clock, log } = context;
  const { observer } = connections;
  // Files that Secrets are made from often end with a line break.
  const trimmed = (secret: SecretString | undefined) => new SecretString(secret?.reveal().trim() ?? '');
  const [username, apiKey] = [trimmed(credentials['username']), trimmed(credentials['apiKey'])];
  if (username.reveal() === '' || apiKey.reveal() === '') {
    throw new TrueNasError(
      'CREDENTIALS_MISSING',
      `Secret ${config.credentialsRef.name} needs the keys username and apiKey.`,
    );
  }
  const endpoint = systemEndpointOf(config);
  const trusted = trustAnchorsOf(config);
  const { login } = config;
  // A new key, CA or pin makes a new connection: a refusal of the old one does not apply to it.
  const print = createHash('sha256')
    .update(JSON.stringify([username.reveal(), apiKey.reveal(), trusted.print, login]))
    .digest('hex');
  return connections.get(
    `truenas:${endpoint.socketUrl}:${print}`,
    () => new TrueNasClient({ endpoint, ...trusted, login, username, apiKey, clock, log, observer }),
  );
}

/** How the certificate of the system is verified, for RPC and HTTP alike, and a word for it. */
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
