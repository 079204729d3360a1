import { randomUUID } from 'node:crypto';
import type { CheckContext } from '../../engine/platform.ts';
import { deadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { type HttpReply, http } from '../../lib/http.ts';
import { Secret } from '../../lib/secret.ts';
import type { TrueNas } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { fileDoor, toFileError } from './file-door.ts';
import { UploadToken } from './schema.ts';

export interface Upload {
  /** Absolute path on the system, in a dataset that exists: missing folders would be made silently. */
  readonly path: string;
  /** Unix permission bits. */
  readonly mode: number;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  readonly seconds: number;
  /** Called when all was sent, and with what the job that writes it tells of itself: from 0 to 100. It must not throw. */
  readonly onWriting?: (percent: number) => void;
}

const boundary = `cluster-provider-talos-${randomUUID()}`;

/**
 * Writes a file on the system, replacing what was there, and waits until the job that writes it has ended: the reply to
 * the upload comes before that (middleware: apps/file_app.py). A broken upload leaves a part of the file behind.
 */
export async function upload(nas: TrueNas, context: CheckContext<TrueNasConfig>, file: Upload): Promise<void> {
  const { url, agent } = fileDoor(context);
  const limited = deadline(file.seconds, file.signal);
  await nas.jobs.subscribe(limited);
  const authorization = await authorizationOf(nas, limited);
  const { head, tail } = frame(file);
  let reply: HttpReply;
  try {
    reply = await http(url, {
      method: 'POST',
      headers: {
        authorization: authorization.reveal(),
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(head.length + file.bytes + tail.length),
      },
      body: body(head, file, tail),
      signal: limited,
      agent,
    });
  } catch (error) {
    throw toFileError(error, 'TRUENAS_UPLOAD_FAILED', file.path);
  }
  const id = await jobOf(nas, reply, file.path);
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

/** The key itself, or where that is not to be sent a token that is good for this one upload, from the address that we have. */
async function authorizationOf(nas: TrueNas, signal: AbortSignal): Promise<Secret> {
  if (nas.options.login !== 'Scram') return new Secret(`Bearer ${nas.options.apiKey.reveal()}`);
  const token = await nas.read('auth.generate_token', [tokenSeconds, {}, true, true], UploadToken, { signal });
  return new Secret(`Token ${token.reveal()}`);
}

function frame({ path, mode }: Upload): { head: Buffer; tail: Buffer } {
  const call = JSON.stringify({ method: 'filesystem.put', params: [path, { mode }] });
  const part = (name: string, more: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const type = '; filename="file"\r\nContent-Type: application/octet-stream';
  return {
    head: Buffer.from(`${part('data', '')}${call}\r\n${part('file', type)}`),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

async function* body(head: Buffer, { content, bytes, path }: Upload, tail: Buffer): AsyncGenerator<Uint8Array> {
  yield head;
  let sent = 0;
  for await (const piece of content) {
    sent += piece.length;
    yield piece;
  }
  if (sent !== bytes) {
    throw new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: the source gave ${sent} bytes instead of ${bytes}.`);
  }
  yield tail;
}

async function jobOf(nas: TrueNas, reply: HttpReply, path: string): Promise<number> {
  const text = await reply.text();
  if (reply.status !== 200) throw toStatusError(nas, reply.status, path, text);
  let id: unknown;
  try {
    id = (JSON.parse(text) as { job_id?: unknown }).job_id;
  } catch (error) {
    throw new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: the reply is not JSON.`, { cause: error });
  }
  if (typeof id !== 'number') throw new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: the reply names no job.`);
  return id;
}

/** What a status of `/_upload` means (middleware: apps/file_app.py). */
function toStatusError(nas: TrueNas, status: number, path: string, text: string): ProviderError {
  if (status === 401) return new ProviderError('TRUENAS_KEY_REFUSED');
  if (status === 403) {
    // A token is good from the address alone that it was made for.
    const more = nas.options.login === 'Scram' ? ', and with SCRAM one address for all connections of this client' : '';
    return new ProviderError('TRUENAS_ROLE_MISSING', `Uploads (filesystem.put) need FULL_ADMIN${more}.`);
  }
  const words = text.replace(/\s+/g, ' ').trim().slice(0, 200);
  return new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: status ${status}${words ? `, ${words}` : ''}.`);
}
