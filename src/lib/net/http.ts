import { Agent, type Dispatcher, getGlobalDispatcher, request } from 'undici';
import { readBounded } from '../bounded-read.ts';
import { assertActive, isDeadlineError } from '../deadline.ts';
import { type ErrorCode, ProviderError } from '../errors.ts';
import type { CertificatePin } from './certificate-pin.ts';
import { expiryCheckInterceptor } from './expiry-check-interceptor.ts';

export interface HttpRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Ends the request and the reading of its body. See `lib/deadline.ts`. */
  readonly signal: AbortSignal;
  /** From {@link createHttpAgent}. Absent: the process's shared connections and the public certificate authorities. */
  readonly agent?: Dispatcher;
  /**
   * How many redirects to follow, for GET and HEAD. 0 by default: a credential must not be sent through a redirect.
   * Redirects from https to another scheme fail with REDIRECT_INSECURE.
   */
  readonly redirects?: number;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; the first value of a repeated header. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body in chunks. Read it or call `discard`, otherwise the connection stays in use. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body. Throws a RangeError beyond `maxBytes` (1 MiB by default). */
  text(maxBytes?: number): Promise<string>;
  discard(): Promise<void>;
}

const connectTimeoutMs = 10_000;

/**
 * Separate connections that trust one CA or one certificate and nothing else. Close the agent when it is no longer
 * needed.
 */
export function createHttpAgent(options: { ca?: string; pin?: CertificatePin; connections?: number } = {}): Agent {
  const { ca, pin, connections = 8 } = options;
  return new Agent({
    connections,
    connect: pin ? pin.connector(connectTimeoutMs) : { timeout: connectTimeoutMs, ...(ca === undefined ? {} : { ca }) },
    bodyTimeout: 60_000,
  });
}

/**
 * One HTTP exchange. Any status is a reply; a failure without a reply is thrown as {@link toNetworkError} converts it.
 * An abort of the caller's own signal is thrown unchanged.
 */
export async function sendHttpRequest(url: string | URL, options: HttpRequest): Promise<HttpResponse> {
  let target = new URL(url);
  let headers = options.headers;
  for (let left = options.redirects ?? 0; ; left -= 1) {
    const reply = await sendOnce(target, { ...options, ...(headers ? { headers } : {}) });
    const location = reply.headers['location'];
    if (left <= 0 || location === undefined || ![301, 302, 303, 307, 308].includes(reply.status)) return reply;
    // A redirect with an invalid location is returned like any other reply.
    if (!URL.canParse(location, target.href)) return reply;
    await reply.discard();
    const next = new URL(location, target);
    rejectInsecureRedirect(target, next);
    if (next.origin !== target.origin) headers = withoutCredentials(headers);
    target = next;
  }
}

/** The content of an https request must not come from an attacker on the network path. */
function rejectInsecureRedirect(from: URL, to: URL): void {
  if (from.protocol !== 'https:' || to.protocol === 'https:') return;
  throw new ProviderError('REDIRECT_INSECURE', `${from.host} redirects to ${to.protocol}//${to.host}.`);
}

async function sendOnce(url: URL, options: HttpRequest): Promise<HttpResponse> {
  const { method = 'GET', headers = {}, body, signal, agent } = options;
  try {
    assertActive(signal);
    const reply = await request(url, {
      method,
      headers,
      signal,
      body: (body as Dispatcher.DispatchOptions['body']) ?? null,
      dispatcher: (agent ?? getGlobalDispatcher()).compose(expiryCheckInterceptor),
    });
    return toHttpResponse(reply, url, signal);
  } catch (error) {
    throw toAbortOrNetworkError(error, url.host, signal);
  }
}

function toHttpResponse(reply: Dispatcher.ResponseData, url: URL, signal: AbortSignal): HttpResponse {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of reply.body) yield chunk as Uint8Array;
    } catch (error) {
      throw toAbortOrNetworkError(error, url.host, signal);
    }
  }
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(
      Object.entries(reply.headers).flatMap(([name, value]) => {
        const first = Array.isArray(value) ? value[0] : value;
        return first === undefined ? [] : [[name.toLowerCase(), first]];
      }),
    ),
    body: { [Symbol.asyncIterator]: () => pieces() },
    text: async (maxBytes = 1024 * 1024) =>
      (await readBounded(pieces(), maxBytes, `the reply of ${url.host}`)).toString('utf8'),
    discard: () => reply.body.dump({ limit: 64 * 1024 }),
  };
}

function withoutCredentials(headers: HttpRequest['headers']): HttpRequest['headers'] {
  return Object.fromEntries(
    Object.entries(headers ?? {}).filter(([name]) => !['authorization', 'cookie'].includes(name.toLowerCase())),
  );
}

/** The caller's abort is thrown unchanged, so that a shutdown is not taken for a network failure. */
function toAbortOrNetworkError(error: unknown, target: string, signal: AbortSignal): unknown {
  if (signal.aborted && !isDeadlineError(signal.reason)) return signal.reason;
  return toNetworkError(signal.aborted ? signal.reason : error, target);
}

/** The codes of OpenSSL and Node for an untrusted certificate. */
const untrustedCertificateCodes =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)|ERR_TLS_CERT_|HOSTNAME_MISMATCH$|INVALID_(CA|PURPOSE)$)/;

/**
 * Converts an error of a socket, TLS or undici into a ProviderError: DEADLINE_EXCEEDED, TLS_UNTRUSTED or UNREACHABLE.
 * `target` is shown to users: a host and port, never a URL with credentials.
 */
export function toNetworkError(error: unknown, target: string): ProviderError {
  if (error instanceof ProviderError) return error;
  const systemCode = systemCodeOf(error);
  const detail = `${target}${systemCode ? ` (${systemCode})` : ''}.`;
  return new ProviderError(networkErrorCode(error, systemCode), detail, { cause: error });
}

function networkErrorCode(error: unknown, systemCode: string | undefined): ErrorCode {
  if (isDeadlineError(error)) return 'DEADLINE_EXCEEDED';
  if (systemCode !== undefined && untrustedCertificateCodes.test(systemCode)) return 'TLS_UNTRUSTED';
  if (systemCode !== undefined && /TIMEDOUT$|_TIMEOUT$/.test(systemCode)) return 'DEADLINE_EXCEEDED';
  return 'UNREACHABLE';
}

/** `ECONNREFUSED`, `CERT_HAS_EXPIRED`, `UND_ERR_CONNECT_TIMEOUT`…: the first one in the chain of causes. */
export function systemCodeOf(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth > 5) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  const inner = error instanceof AggregateError ? error.errors : [error.cause];
  for (const one of inner) {
    const code = systemCodeOf(one, depth + 1);
    if (code !== undefined) return code;
  }
  return undefined;
}
