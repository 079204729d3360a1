import { createHash } from 'node:crypto';
import { readBounded } from '../../lib/bounded-read.ts';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { type HttpRequest, type HttpResponse, sendHttpRequest } from '../../lib/net/http.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';

type Agent = NonNullable<HttpRequest['agent']>;

export interface S3FetchOptions {
  readonly agent: Agent;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
}

/** Enough for a part of 5 MiB over a slow line. */
const requestSeconds = 300;
const attempts = 4;
/** More than a list of a thousand objects has. */
const maxReplyBytes = 2 * 1024 * 1024;

/**
 * The `fetch` of the S3 client. It adds what that client lacks: connections with a CA of their own, deadlines, retries of
 * failures that pass, a limit on replies, and the MD5 of everything that is sent, with which the server rejects what was
 * changed on the way. The content of an object is passed on as a stream.
 */
export const createS3Fetch =
  (options: S3FetchOptions): typeof fetch =>
  async (input, init = {}) => {
    const url = new URL(String(input));
    const method = (init.method ?? 'GET') as NonNullable<HttpRequest['method']>;
    const body = toBytes(init.body);
    const headers = { ...describeBody(method, body), ...(init.headers as Record<string, string>) };
    if (method === 'PUT' && body && headers['content-md5'] === undefined)
      Object.assign(headers, md5Header(md5Of(body)));
    // The completion of an upload is not repeated blindly: after the first one the upload does not exist any more.
    const isRepeatable = method !== 'POST';
    for (let attempt = 1; ; attempt += 1) {
      const isLast = !isRepeatable || attempt >= attempts;
      const reply = await send(url, { method, headers, body }, options).catch((error: unknown) => {
        options.signal.throwIfAborted();
        if (isLast) throw error;
        return undefined;
      });
      if (reply && (isLast || !isPassing(reply.status))) return reply;
      await options.clock.sleep(backoffSeconds(attempt, { baseSeconds: 1, capSeconds: 10 }) * 1000, options.signal);
    }
  };

/** The server asks for patience, or has failed. */
const isPassing = (status: number): boolean => status === 429 || status >= 500;

function toBytes(body: unknown): Uint8Array | undefined {
  if (typeof body === 'string') return Buffer.from(body, 'utf8');
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (body === undefined || body === null || body instanceof Uint8Array) return body ?? undefined;
  throw new TypeError('the S3 client sends a body of another type');
}

const describeBody = (method: string, body: Uint8Array | undefined): Record<string, string> =>
  method === 'GET' || method === 'HEAD' || body === undefined ? {} : { 'content-length': String(body.length) };

const md5Of = (body: Uint8Array): Buffer => createHash('md5').update(body).digest();

/** For a body whose MD5 is known already: it is not computed again. */
export const md5Header = (md5: Buffer): { 'content-md5': string } => ({ 'content-md5': md5.toString('base64') });

/** Between two pieces other work is done, e.g. the encryption of the next ones: many small pieces wait for much of it. */
const pieceBytes = 512 * 1024;

/** In pieces, because what is given to TLS at once is encrypted at once, into memory of the same size. */
async function* toPieces(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
}

async function send(
  url: URL,
  request: {
    readonly method: NonNullable<HttpRequest['method']>;
    headers: Record<string, string>;
    body: Uint8Array | undefined;
  },
  { agent, signal }: S3FetchOptions,
): Promise<Response> {
  const { method, headers, body } = request;
  const common = {
    ...{ method, headers, agent },
    ...(body && method !== 'GET' && method !== 'HEAD' && { body: body.length > pieceBytes ? toPieces(body) : body }),
  };
  // An object is read for as long as it takes; its agent ends a connection on which nothing arrives.
  if (method === 'GET' && url.search === '') {
    const reply = await sendHttpRequest(url, { ...common, signal });
    return reply.status === 200 ? streamReply(reply) : await bufferReply(reply);
  }
  return await withDeadline(requestSeconds, signal, async (limit) => {
    const reply = await sendHttpRequest(url, { ...common, signal: limit });
    if (method !== 'HEAD') return await bufferReply(reply);
    await reply.discard();
    return new Response(null, { status: reply.status, headers: reply.headers });
  });
}

const streamReply = ({ body, status, headers }: HttpResponse): Response => {
  const pieces = body[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
  return new Response(stream, { status, headers });
};

async function bufferReply({ body, status, headers }: HttpResponse): Promise<Response> {
  const text = await readBounded(body, maxReplyBytes, 'the reply of the S3 server');
  const isEmpty = status === 204 || status === 304 || text.length === 0;
  // The client reads the code of an error only from this exact type.
  const type = /^(application|text)\/xml/.test(headers['content-type'] ?? '')
    ? { 'content-type': 'application/xml' }
    : {};
  return new Response(isEmpty ? null : new Uint8Array(text), { status, headers: { ...headers, ...type } });
}
