import { randomUUID } from 'node:crypto';
import type { PlatformContext } from '../../../engine/contexts.ts';
import { deadlineSignal } from '../../../lib/deadline.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { type HttpResponse, sendHttpRequest } from '../../../lib/net/http.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { TrueNasError } from '../error-codes.ts';
import type { TrueNasClient } from './client.ts';
import { fileEndpointOf, toFileError } from './file-http.ts';
import { UploadToken } from './schema.ts';

export interface UploadRequest {
  /** Absolute path on the system, in an existing dataset: TrueNAS would silently create missing folders. */
  readonly path: string;
  /** Unix permission bits. */
  readonly mode: number;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  readonly seconds: number;
  /** Called when all was sent, and with the progress of the job that writes it, from 0 to 100. It must not throw. */
  readonly onWriting?: (percent: number) => void;
}

const boundary = `cluster-provider-talos-${randomUUID()}`;

/**
 * Writes or replaces a file on the system and waits until the job that writes it has ended: the reply to the upload
 * comes before that (middleware: apps/file_app.py). A broken upload leaves a partial file.
 */
export async function upload(
  nas: TrueNasClient,
  context: PlatformContext<TrueNasConfig>,
  file: UploadRequest,
): Promise<void> {
  await nas.observedWrite('filesystem.put', [file.path], () => send(nas, context, file));
}

async function send(nas: TrueNasClient, context: PlatformContext<TrueNasConfig>, file: UploadRequest): Promise<void> {
  const { url, agent } = fileEndpointOf(context);
  const limited = deadlineSignal(file.seconds, file.signal);
  await nas.jobs.subscribe(limited);
  const authorization = await authorizationOf(nas, limited);
  const { head, tail } = multipartFrame(file);
  let reply: HttpResponse;
  try {
    reply = await sendHttpRequest(url, {
      method: 'POST',
      headers: {
        authorization: authorization.reveal(),
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(head.length + file.bytes + tail.length),
      },
      body: multipartBody(head, file, tail),
      signal: limited,
      agent,
    });
  } catch (error) {
    throw toFileError(error, 'TRUENAS_UPLOAD_FAILED', file.path);
  }
  const id = await parseJobId(nas, reply, file.path);
  file.onWriting?.(0);
  await nas.jobs.wait(id, {
    onProgress: file.onWriting,
    signal: file.signal,
    seconds: file.seconds,
    method: 'filesystem.put',
    firstArgument: file.path,
  });
}

const tokenSeconds = 60;

/** The key itself, or, with SCRAM, a token for this one upload from our address. */
async function authorizationOf(nas: TrueNasClient, signal: AbortSignal): Promise<SecretString> {
  if (nas.options.login !== 'Scram') return new SecretString(`Bearer ${nas.options.apiKey.reveal()}`);
  const token = await nas.read('auth.generate_token', [tokenSeconds, {}, true, true], UploadToken, { signal });
  return new SecretString(`Token ${token.reveal()}`);
}

function multipartFrame({ path, mode }: UploadRequest): { head: Buffer; tail: Buffer } {
  const call = JSON.stringify({ method: 'filesystem.put', params: [path, { mode }] });
  const part = (name: string, more: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const type = '; filename="file"\r\nContent-Type: application/octet-stream';
  return {
    head: Buffer.from(`${part('data', '')}${call}\r\n${part('file', type)}`),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

async function* multipartBody(
  head: Buffer,
  { content, bytes, path }: UploadRequest,
  tail: Buffer,
): AsyncGenerator<Uint8Array> {
  yield head;
  let sent = 0;
  for await (const chunk of content) {
    sent += chunk.length;
    yield chunk;
  }
  if (sent !== bytes) {
    throw new TrueNasError('TRUENAS_UPLOAD_FAILED', `${path}: the source has ${sent} bytes instead of ${bytes}.`);
  }
  yield tail;
}

async function parseJobId(nas: TrueNasClient, reply: HttpResponse, path: string): Promise<number> {
  const text = await reply.text();
  if (reply.status !== 200) throw toStatusError(nas, reply.status, path, text);
  let id: unknown;
  try {
    id = (JSON.parse(text) as { job_id?: unknown }).job_id;
  } catch (error) {
    throw new TrueNasError('TRUENAS_UPLOAD_FAILED', `${path}: the reply is not JSON.`, { cause: error });
  }
  if (typeof id !== 'number') throw new TrueNasError('TRUENAS_UPLOAD_FAILED', `${path}: the response has no job.`);
  return id;
}

/** Meaning of the statuses of `/_upload` (middleware: apps/file_app.py). */
function toStatusError(nas: TrueNasClient, status: number, path: string, text: string): ProviderError {
  if (status === 401) return new TrueNasError('TRUENAS_KEY_REFUSED');
  if (status === 403) {
    // A token is valid only from the address that requested it.
    const more = nas.options.login === 'Scram' ? ', and with SCRAM one address for all connections of this client' : '';
    return new TrueNasError('TRUENAS_ROLE_MISSING', `Uploads (filesystem.put) need FULL_ADMIN${more}.`);
  }
  const message = text.replace(/\s+/g, ' ').trim().slice(0, 200);
  return new TrueNasError('TRUENAS_UPLOAD_FAILED', `${path}: status ${status}${message ? `, ${message}` : ''}.`);
}
