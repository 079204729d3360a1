import { Agent, type Dispatcher } from 'undici';

/** Unmodified JSON. The suite reads it with `at`. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An object as transmitted. Deliberately loose: the suite tests servers, so it assumes nothing about a response. */
// biome-ignore lint/suspicious/noExplicitAny: answers of a server under test are unknown by nature, and paths into them are the tests.
export type Body = any;

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Body;
  /** The body as text, for responses that are no JSON. */
  readonly text: string;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly accept?: string;
  readonly timeoutSeconds?: number;
}

export interface RawWatchEvent {
  readonly type: string;
  readonly object: Body;
}

/** The address and credentials of one user. */
export interface RawKubeOptions {
  readonly url: string;
  readonly ca?: string | undefined;
  readonly token?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Sent with each request, e.g. `impersonate-user`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A Kubernetes API client directly on HTTP: no retries, no types, no interpretation of status codes. */
export class RawKubeClient {
  readonly options: RawKubeOptions;
  readonly #agent: Agent;

  constructor(options: RawKubeOptions) {
    this.options = options;
    const { ca, cert, key } = options;
    this.#agent = new Agent({
      connect: { ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) },
      bodyTimeout: 60_000,
      headersTimeout: 60_000,
      keepAliveTimeout: 2_000,
    });
  }

  /** The same server as another user: other credentials or other headers. */
  as(change: Partial<RawKubeOptions>): RawKubeClient {
    return new RawKubeClient({ ...this.options, ...change });
  }

  /** The same credentials, acting for `user` by impersonation. */
  impersonating(user: string, groups: readonly string[] = []): RawKubeClient {
    const headers: Record<string, string> = { 'impersonate-user': user };
    // Kubernetes reads one header per group; a test needs at most one.
    if (groups[0]) headers['impersonate-group'] = groups[0];
    return this.as({ headers });
  }

  async request(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<RawResponse> {
    const response = await this.#send(
      method,
      path,
      body,
      options,
      AbortSignal.timeout(1000 * (options.timeoutSeconds ?? 20)),
    );
    const text = await response.body.text();
    return { status: response.statusCode, headers: response.headers, body: parse(text), text };
  }

  get(path: string, options?: RequestOptions): Promise<RawResponse> {
    return this.request('GET', path, undefined, options);
  }
  post(path: string, body: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('POST', path, body, options);
  }
  put(path: string, body: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('PUT', path, body, options);
  }
  delete(path: string, body?: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('DELETE', path, body, options);
  }
  merge(path: string, patch: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('PATCH', path, patch, { ...options, contentType: 'application/merge-patch+json' });
  }
  jsonPatch(path: string, patch: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('PATCH', path, patch, { ...options, contentType: 'application/json-patch+json' });
  }
  strategic(path: string, patch: unknown, options?: RequestOptions): Promise<RawResponse> {
    return this.request('PATCH', path, patch, { ...options, contentType: 'application/strategic-merge-patch+json' });
  }
  /** Server-side apply of the intent of `manager`. */
  apply(
    path: string,
    object: unknown,
    manager: string,
    options: RequestOptions & { force?: boolean } = {},
  ): Promise<RawResponse> {
    const { force, ...rest } = options;
    return this.request('PATCH', path, object, {
      ...rest,
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: manager, ...(force === undefined ? {} : { force }), ...rest.query },
    });
  }

  /** Opens a watch. The response may be a rejection: then `status` is not 200 and `refusal` has the body. */
  async watch(path: string, query: RequestOptions['query'] = {}, options: RequestOptions = {}): Promise<RawWatch> {
    const abort = new AbortController();
    const response = await this.#send(
      'GET',
      path,
      undefined,
      { ...options, query: { watch: true, ...query } },
      abort.signal,
    );
    if (response.statusCode === 200) return new RawWatch(response, abort);
    const text = await response.body.text();
    return new RawWatch(response, abort, parse(text));
  }

  async #send(method: string, path: string, body: unknown, options: RequestOptions, signal: AbortSignal) {
    const { url, token, headers } = this.options;
    const target = new URL(path, url);
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) target.searchParams.set(name, String(value));
    const sent: Record<string, string> = {
      accept: options.accept ?? 'application/json',
      ...headers,
      ...options.headers,
    };
    if (token) sent['authorization'] = `Bearer ${token}`;
    if (body !== undefined) sent['content-type'] = options.contentType ?? 'application/json';
    return this.#agent.request({
      origin: target.origin,
      path: `${target.pathname}${target.search}`,
      method: method as Dispatcher.HttpMethod,
      headers: sent,
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      signal,
    });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** An open watch. Events are queued in order until a test takes them. */
export class RawWatch {
  readonly status: number;
  readonly headers: RawResponse['headers'];
  /** Body of the response when the watch was rejected. */
  readonly refusal: Body;
  /** Everything received so far, including taken events. */
  readonly seen: RawWatchEvent[] = [];
  ended = false;
  #taken = 0;
  #failure: unknown;
  #wake: (() => void)[] = [];
  readonly #abort: AbortController;

  constructor(response: Dispatcher.ResponseData, abort: AbortController, rejection?: Body) {
    this.status = response.statusCode;
    this.headers = response.headers;
    this.refusal = rejection;
    this.#abort = abort;
    if (rejection === undefined && response.statusCode === 200) void this.#read(response);
    else this.ended = true;
  }

  async #read(response: Dispatcher.ResponseData): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of response.body) {
        const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line.trim()) this.seen.push(JSON.parse(line) as RawWatchEvent);
        this.#notify();
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failure = error;
    } finally {
      this.ended = true;
      this.#notify();
    }
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /**
   * The next event that is no bookmark, or any that `wanted` accepts. Fails at the end of the stream or at the timeout.
   */
  async next(
    seconds = 10,
    wanted: (event: RawWatchEvent) => boolean = (event) => event.type !== 'BOOKMARK',
  ): Promise<RawWatchEvent> {
    const end = performance.now() + seconds * 1000;
    for (;;) {
      while (this.#taken < this.seen.length) {
        const event = this.seen[this.#taken++] as RawWatchEvent;
        if (wanted(event)) return event;
      }
      if (this.ended)
        throw new Error(`the watch ended (${String(this.#failure ?? 'cleanly')}) after ${this.summary()}`);
      if (performance.now() > end) throw new Error(`no such event within ${seconds} s; seen: ${this.summary()}`);
      await this.#change(end - performance.now());
    }
  }

  /** Resolves when the server has ended the stream. */
  async end(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (!this.ended) {
      if (performance.now() > end)
        throw new Error(`the watch was still open after ${seconds} s; seen: ${this.summary()}`);
      await this.#change(end - performance.now());
    }
    if (this.#failure) throw new Error('the watch did not end cleanly', { cause: this.#failure });
  }

  summary(): string {
    return JSON.stringify(this.seen.map(({ type, object }) => [type, object?.metadata?.name ?? object?.message]));
  }

  #change(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, milliseconds));
      this.#wake.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  close(): void {
    this.#abort.abort();
  }
}

function parse(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
