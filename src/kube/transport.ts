import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type Dispatcher, Pool } from 'undici';
import type { Clock } from '../lib/clock.ts';
import { systemClock } from '../lib/clock.ts';
import { isDeadline, orAborted, throwIfOver, within } from '../lib/deadline.ts';
import { lookBeforeSending } from '../lib/sending.ts';
import { Breaker } from './breaker.ts';
import type { ClusterConnection, Credentials, TlsMaterial } from './connection.ts';
import { KubeError } from './errors.ts';
import { noAnswer, refusalOf, whyUnreachable } from './status.ts';
import { linesOf, StreamGuard, type StreamRequest, streamOver } from './stream.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Values left undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** What a call is about, for messages and metrics. */
export interface Target {
  readonly method: Method;
  /** From the API's root, e.g. `/api/v1/namespaces`. */
  readonly path: string;
}

export interface KubeRequest extends Target {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  readonly deadlineSeconds: number;
}

/** Learns of every answered or failed request. */
export interface TransportObserver {
  /** `code` is the HTTP status, or `<error>` where no answer came. */
  request(method: Method, code: string, seconds: number): void;
}

export interface TransportOptions {
  readonly userAgent?: string;
  readonly clock?: Clock;
  readonly observer?: TransportObserver;
  /** Connections at the same time; default: as many as there are calls. */
  readonly connections?: number;
  /**
   * For a server that many ask who also ask others: after a call without an answer the rest fail at once, but for one that
   * tries again each so many seconds. Left out: everybody tries.
   */
  readonly restSeconds?: number;
}

/** A connection that nobody uses is ended by us after so long: sooner than any server would. */
const idleMilliseconds = 15_000;

/**
 * HTTP to one API server: one pool of connections, fresh credentials and a deadline for every call, and one kind of
 * error. The pool is replaced only when the CA or the client certificate change; what runs on the old one may finish.
 */
export class Transport {
  readonly #connection: ClusterConnection;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #observer: TransportObserver | undefined;
  readonly #breaker: Breaker | undefined;
  readonly #connections: number | null;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #retired = new Set<Pool>();
  #pool: { readonly pool: Pool; readonly dispatcher: Dispatcher; readonly fingerprint: string } | undefined;
  #closed = false;

  constructor(connection: ClusterConnection, options: TransportOptions = {}) {
    const url = new URL(connection.server);
    this.#connection = connection;
    this.#userAgent = options.userAgent ?? 'cluster-provider-talos';
    this.#clock = options.clock ?? systemClock;
    this.#observer = options.observer;
    this.#connections = options.connections ?? null;
    this.#breaker = options.restSeconds === undefined ? undefined : new Breaker(this.#clock, options.restSeconds);
    this.#origin = url.origin;
    this.#prefix = url.pathname === '/' ? '' : url.pathname;
  }

  /** One call. Returns the parsed JSON, or the text where the server sent something else. Throws {@link KubeError}. */
  async request<T>(request: KubeRequest): Promise<T> {
    const call = () => this.#request<T>(request);
    return await (this.#breaker ? this.#breaker.pass(request, call) : call());
  }

  async #request<T>(request: KubeRequest): Promise<T> {
    return await within(request.deadlineSeconds, request.signal, (signal) =>
      this.#observed(request, signal, async () => {
        const response = await this.#send(request, signal, jsonHeaders(request));
        const text = await response.body.text();
        if (response.statusCode >= 400) throw this.#refusal(request, response, text);
        return { code: response.statusCode, value: parse<T>(request, response, text) };
      }),
    );
  }

  /**
   * The lines of a watch. Silence and old age end it quietly; everything else that ends it early is thrown. The
   * connection is gone when the loop over it is left, in whatever way.
   */
  async *stream(request: StreamRequest): AsyncGenerator<string, void, undefined> {
    const life = new AbortController();
    const onAbort = () => life.abort(request.signal.reason);
    if (request.signal.aborted) onAbort();
    request.signal.addEventListener('abort', onAbort, { once: true });
    const guard = new StreamGuard(this.#clock, request, life);
    const watching = guard.watch();
    try {
      const body = await this.#observed({ method: 'GET', path: request.path }, life.signal, async () => {
        const response = await this.#send({ method: 'GET', ...request }, life.signal, {});
        if (response.statusCode < 400) return { code: response.statusCode, value: response.body };
        throw this.#refusal({ method: 'GET', path: request.path }, response, await response.body.text());
      });
      yield* linesOf(body, () => guard.alive());
    } catch (error) {
      if (life.signal.reason !== streamOver) throw this.#toError({ method: 'GET', path: request.path }, error, life);
    } finally {
      request.signal.removeEventListener('abort', onAbort);
      life.abort(streamOver);
      await watching;
    }
  }

  /** Ends every connection at once. Calls under way fail as unreachable. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#retired, ...(this.#pool ? [this.#pool.pool] : [])];
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  async #observed<T>(
    request: Target,
    signal: AbortSignal,
    call: () => Promise<{ code: number; value: T }>,
  ): Promise<T> {
    const start = this.#clock.monotonic();
    const tell = (code: string) =>
      this.#observer?.request(request.method, code, (this.#clock.monotonic() - start) / 1000);
    try {
      const { code, value } = await call();
      tell(String(code));
      return value;
    } catch (error) {
      const failure = this.#toError(request, error, { signal });
      tell(failure instanceof KubeError && failure.status > 0 ? String(failure.status) : '<error>');
      throw failure;
    }
  }

  async #send(
    request: Pick<KubeRequest, 'method' | 'path' | 'query' | 'body'>,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<Dispatcher.ResponseData> {
    const credentials = await orAborted(this.#connection.credentials(), signal).catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      const why = `the credentials cannot be read: ${whyUnreachable(cause).slice(0, 200)}`;
      throw new KubeError(noAnswer(request, 'NoCredentials', why, cause));
    });
    if (this.#closed) throw new KubeError(noAnswer(request, 'Unreachable', 'the connection was closed'));
    throwIfOver(signal);
    return await this.#dispatcherFor(credentials).request({
      method: request.method,
      path: `${this.#prefix}${request.path}${queryText(request.query)}`,
      headers: { accept: 'application/json', 'user-agent': this.#userAgent, ...headers, ...credentials.headers },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      // undici would end the connection after each DELETE that has a body, for the sake of servers that do not read it.
      reset: false,
      signal,
    });
  }

  #dispatcherFor(credentials: Credentials): Dispatcher {
    const fingerprint = fingerprintOf(credentials.tls);
    if (this.#pool?.fingerprint === fingerprint) return this.#pool.dispatcher;
    if (this.#pool) this.#retire(this.#pool.pool);
    // Deadlines are the signal's: undici's own timers would be a second opinion.
    const pool = new Pool(this.#origin, {
      connections: this.#connections,
      // Made once: to read certificates and key costs some 10 ms for each connection.
      connect: { ...credentials.tls, secureContext: createSecureContext(credentials.tls), timeout: 10_000 },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMilliseconds,
      // A server may offer more: with a connection or two for each of a thousand clusters that is not for nothing.
      keepAliveMaxTimeout: idleMilliseconds,
    });
    const dispatcher = pool.compose(lookBeforeSending);
    this.#pool = { pool, dispatcher, fingerprint };
    return dispatcher;
  }

  #retire(pool: Pool): void {
    this.#retired.add(pool);
    const gone = () => this.#retired.delete(pool);
    pool.close().then(gone, gone);
  }

  #refusal(request: Target, response: Dispatcher.ResponseData, text: string): KubeError {
    if (response.statusCode === 401) this.#connection.invalidate();
    return new KubeError(refusalOf(request, response.statusCode, response.headers['retry-after'], text));
  }

  /** What a caller gets to see: our error, or the reason of its own signal. */
  #toError(request: Target, error: unknown, { signal }: { signal: AbortSignal }): unknown {
    if (error instanceof KubeError) return error;
    if (!signal.aborted) return new KubeError(noAnswer(request, 'Unreachable', whyUnreachable(error), error));
    if (!isDeadline(signal.reason)) return signal.reason;
    return new KubeError(noAnswer(request, 'DeadlineExceeded', 'no answer in time', signal.reason));
  }
}

function jsonHeaders(request: KubeRequest): Record<string, string> {
  const { accept, body, contentType = 'application/json' } = request;
  return { ...(accept && { accept }), ...(body === undefined ? {} : { 'content-type': contentType }) };
}

function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/** The same object is the same material. */
const fingerprints = new WeakMap<TlsMaterial, string>();

function fingerprintOf(tls: TlsMaterial): string {
  const known = fingerprints.get(tls) ?? fingerprint(tls);
  fingerprints.set(tls, known);
  return known;
}

function fingerprint(tls: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [tls.ca, tls.cert, tls.key, tls.servername, String(tls.rejectUnauthorized)]) {
    hash.update(part ?? '').update('\0');
  }
  return hash.digest('base64');
}

function parse<T>(request: KubeRequest, response: Dispatcher.ResponseData, text: string): T {
  if (!String(response.headers['content-type']).includes('json')) return text as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    // The parser's own error quotes the text, which may hold a secret.
    throw new KubeError(noAnswer(request, 'BadAnswer', 'the answer is not JSON'));
  }
}
