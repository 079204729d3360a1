import type { Dispatcher } from 'undici';
import { ContentTooLargeError, readBounded } from '../../lib/bounded-read.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { assertActive, isDeadlineError, waitOrAbort, withDeadline } from '../../lib/deadline.ts';
import { CircuitBreaker } from '../../lib/resilience/circuit-breaker.ts';
import { ReadRateLimit } from '../../lib/resilience/rate-limit.ts';
import { describeNetworkError, describeNoResponse, parseErrorResponse } from '../client/api-status.ts';
import { KubeError } from '../errors.ts';
import type { ApiServerConnection, RequestCredentials } from './api-server-connection.ts';
import { KubeConnectionPool } from './connection-pool.ts';
import { LineReader, type ResponseHead, type StreamRequest } from './line-reader.ts';
import type { HttpMethod, KubeRequest, QueryParameters, RequestTarget } from './request.ts';
import { maxErrorBodyBytes, platformClusterLimits, type ResponseLimits } from './response-limits.ts';
import { StreamTimeout, streamExpired } from './stream-timeout.ts';
import { unreachableServerRules } from './unreachable-server.ts';

/** The parts of a call that are sent. */
type RequestContent = Omit<KubeRequest, 'signal' | 'deadlineSeconds' | 'maxBytes' | 'received'>;

/** Records every completed or failed request. */
export interface TransportObserver {
  /** `code` is the HTTP status, or `<error>` without a response. */
  request(method: HttpMethod, code: string, seconds: number): void;
}

export interface TransportOptions {
  readonly userAgent?: string;
  readonly clock?: Clock;
  readonly observer?: TransportObserver;
  /** Maximum number of concurrent connections; default: one for each call. */
  readonly connections?: number;
  /**
   * For a server with many callers that also call other servers: after a call without a response the other calls fail
   * at once, except for one trial call after this time. Absent: no circuit breaker.
   */
  readonly unreachablePauseSeconds?: number;
  /** Limits of the responses; default: the limits of the platform cluster's API server. */
  readonly limits?: ResponseLimits;
}

/** HTTP to one API server: current credentials and a deadline for every call, and one type of error. */
export class Transport {
  readonly limits: ResponseLimits;
  readonly #connection: ApiServerConnection;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #observer: TransportObserver | undefined;
  readonly #breaker: CircuitBreaker<string> | undefined;
  readonly #connections: KubeConnectionPool;
  readonly #rateLimit: ReadRateLimit;
  readonly #prefix: string;
  #closed = false;

  constructor(connection: ApiServerConnection, options: TransportOptions = {}) {
    const url = new URL(connection.server);
    this.#connection = connection;
    this.#userAgent = options.userAgent ?? 'cluster-provider-talos';
    this.#clock = options.clock ?? systemClock;
    this.#observer = options.observer;
    this.limits = options.limits ?? platformClusterLimits;
    const { watchBytes: bytes, watchEvents: messages } = this.limits;
    this.#rateLimit = new ReadRateLimit(this.#clock, { bytes, messages });
    this.#connections = new KubeConnectionPool(url.origin, options.connections);
    const { unreachablePauseSeconds: seconds } = options;
    this.#breaker =
      seconds === undefined
        ? undefined
        : new CircuitBreaker<string>({ clock: this.#clock, pauseSeconds: () => seconds });
    this.#prefix = url.pathname === '/' ? '' : url.pathname;
  }

  /** Makes one call. Returns the parsed JSON, or the text of a response that is not JSON. Throws {@link KubeError}. */
  async request<T>(request: KubeRequest): Promise<T> {
    const call = () => this.#request<T>(request);
    return await (this.#breaker ? this.#breaker.run(call, unreachableServerRules(request)) : call());
  }

  async #request<T>(request: KubeRequest): Promise<T> {
    return await withDeadline(request.deadlineSeconds, request.signal, (signal) =>
      this.#observed(request, signal, async () => {
        const response = await this.#send(request, signal);
        if (response.statusCode >= 400) throw this.#toRejection(request, response, await readErrorBody(response));
        const max = Math.min(request.maxBytes ?? Number.POSITIVE_INFINITY, this.limits.answerBytes);
        const bytes = await readBounded(response.body, max);
        request.received?.(bytes.length);
        const text = bytes.toString('utf8');
        return { code: response.statusCode, value: parseResponse<T>(request, response, text) };
      }),
    );
  }

  /**
   * Passes on the lines of a watch until it ends. Silence and the lifetime limit end it normally; any other early end
   * throws, as does an error from `line`. The stream has its own connection, which is closed afterwards.
   */
  async stream(request: StreamRequest, line: (line: string) => void): Promise<void> {
    const life = new AbortController();
    const onAbort = () => life.abort(request.signal.reason);
    if (request.signal.aborted) onAbort();
    request.signal.addEventListener('abort', onAbort, { once: true });
    const guard = StreamTimeout.of(this.#clock, request, life);
    const target = { method: 'GET', path: request.path } as const;
    try {
      const reader = new LineReader(line, () => guard.alive(), {
        lineBytes: this.limits.eventBytes,
        ...(request.isOneText ? {} : { throttle: (bytes, events) => this.#rateLimit.rest(bytes, events, life.signal) }),
      });
      const { query = {}, accept = 'application/json' } = request;
      await this.#follow({ ...target, query, accept }, reader, life.signal);
    } catch (error) {
      if (life.signal.reason !== streamExpired) throw this.#toError(target, error, life);
      // A text that was not read to its end must not be taken for the whole.
      if (request.isOneText) throw new KubeError(describeNoResponse(target, 'DeadlineExceeded', 'timeout', error));
    } finally {
      request.signal.removeEventListener('abort', onAbort);
      guard.release();
    }
  }

  async #follow(request: RequestContent, reader: LineReader, signal: AbortSignal): Promise<void> {
    const credentials = await this.#credentials(request, signal);
    const client = this.#connections.own(credentials.tls);
    try {
      await this.#observed(request, signal, async () => {
        this.#connections.dispatch(client, this.#messageOf(request, credentials), reader);
        const response = await waitOrAbort(reader.isStarted, signal);
        if (response.statusCode < 400) return { code: response.statusCode, value: undefined };
        throw this.#toRejection(request, response, await waitOrAbort(reader.ended, signal));
      });
      await waitOrAbort(reader.ended, signal);
    } finally {
      await this.#connections.release(client);
    }
  }

  /** Closes every connection at once. Active calls fail as unreachable. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  async #observed<T>(
    request: RequestTarget,
    signal: AbortSignal,
    call: () => Promise<{ code: number; value: T }>,
  ): Promise<T> {
    const start = this.#clock.monotonic();
    const observe = (code: string) =>
      this.#observer?.request(request.method, code, (this.#clock.monotonic() - start) / 1000);
    try {
      const { code, value } = await call();
      observe(String(code));
      return value;
    } catch (error) {
      const failure = this.#toError(request, error, { signal });
      observe(failure instanceof KubeError && failure.status > 0 ? String(failure.status) : '<error>');
      throw failure;
    }
  }

  async #send(request: RequestContent, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const credentials = await this.#credentials(request, signal);
    return await this.#connections
      .shared(credentials.tls)
      .request({ ...this.#messageOf(request, credentials), signal });
  }

  /** Throws when the request must not be sent any more. */
  async #credentials(request: RequestTarget, signal: AbortSignal): Promise<RequestCredentials> {
    const credentials = await waitOrAbort(this.#connection.credentials(), signal).catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      const why = `the credentials cannot be read: ${describeNetworkError(cause).slice(0, 200)}`;
      throw new KubeError(describeNoResponse(request, 'NoCredentials', why, cause));
    });
    if (this.#closed) throw new KubeError(describeNoResponse(request, 'Unreachable', 'the connection was closed'));
    assertActive(signal);
    return credentials;
  }

  #messageOf(request: RequestContent, credentials: RequestCredentials) {
    return {
      method: request.method,
      path: `${this.#prefix}${request.path}${formatQuery(request.query)}`,
      headers: { 'user-agent': this.#userAgent, ...jsonHeaders(request), ...credentials.headers },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      // undici would close the connection after each DELETE with a body, because some servers do not read it.
      reset: false,
    };
  }

  #toRejection(request: RequestTarget, response: ResponseHead, text: string): KubeError {
    if (response.statusCode === 401) this.#connection.invalidate();
    return new KubeError(parseErrorResponse(request, response.statusCode, response.headers['retry-after'], text));
  }

  /** The error for the caller: a KubeError, or the reason of its own signal. */
  #toError(request: RequestTarget, error: unknown, { signal }: { signal: AbortSignal }): unknown {
    if (error instanceof KubeError) return error;
    if (error instanceof ContentTooLargeError)
      return new KubeError(describeNoResponse(request, 'AnswerTooLong', error.message, error));
    if (!signal.aborted)
      return new KubeError(describeNoResponse(request, 'Unreachable', describeNetworkError(error), error));
    if (!isDeadlineError(signal.reason)) return signal.reason;
    return new KubeError(describeNoResponse(request, 'DeadlineExceeded', 'timeout', signal.reason));
  }
}

/** Ignores an error response body that is too long: the status is enough for the error. */
async function readErrorBody(response: Dispatcher.ResponseData): Promise<string> {
  try {
    return (await readBounded(response.body, maxErrorBodyBytes)).toString('utf8');
  } catch (error) {
    if (error instanceof ContentTooLargeError) return '';
    throw error;
  }
}

function jsonHeaders({ accept = 'application/json', body, contentType = 'application/json' }: RequestContent) {
  return { accept, ...(body === undefined ? {} : { 'content-type': contentType }) };
}

function formatQuery(query: QueryParameters = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

function parseResponse<T>(request: KubeRequest, response: Dispatcher.ResponseData, text: string): T {
  if (!String(response.headers['content-type']).includes('json')) return text as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    // The parser's error quotes the text, which may hold a secret.
    throw new KubeError(describeNoResponse(request, 'BadAnswer', 'the response is not JSON'));
  }
}
