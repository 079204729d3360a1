import { randomUUID } from 'node:crypto';
import type { Agent } from 'undici';
import type { CheckContext, Closable } from '../../engine/platform.ts';
import { deadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { type HttpReply, http, httpAgent } from '../../lib/http.ts';
import { type TrueNas, trustedBy } from './client.ts';
import { endpointOf, type TrueNasConfig } from './config.ts';

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

/** HTTPS connections to one system, for uploads only. */
class UploadAgent implements Closable {
  readonly agent: Agent;
  constructor({ ca, pin }: ReturnType<typeof trustedBy>) {
    this.agent = httpAgent({ ...(ca ? { ca } : {}), ...(pin ? { pin } : {}), connections: 4 });
  }
  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

/**
 * Writes a file on the system, replacing what was there, and waits until the job that writes it has ended: the reply to
 * the upload comes before that (middleware: apps/file_app.py). A broken upload leaves a part of the file behind.
 */
export async function upload(nas: TrueNas, context: CheckContext<TrueNasConfig>, file: Upload): Promise<void> {
  const endpoint = endpointOf(context.config);
  const trusted = trustedBy(context.config);
  const { agent } = context.connections.get(
    `truenas-upload:${endpoint.uploadUrl}:${trusted.print}`,
    () => new UploadAgent(trusted),
  );
  const limited = deadline(file.seconds, file.signal);
  await nas.jobs.subscribe(limited);
  const { head, tail } = frame(file);
  let reply: HttpReply;
  try {
    reply = await http(endpoint.uploadUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${nas.options.apiKey.reveal()}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(head.length + file.bytes + tail.length),
      },
      body: body(head, file, tail),
      signal: limited,
      agent,
    });
  } catch (error) {
    throw toUploadError(error, file.path);
  }
  const id = await jobOf(reply, file.path);
  file.onWriting?.(0);
  await nas.jobs.wait(id, {
    onProgress: file.onWriting,
    signal: file.signal,
    seconds: file.seconds,
    method: 'filesystem.put',
    firstArgument: file.path,
  });
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

async function jobOf(reply: HttpReply, path: string): Promise<number> {
  const text = await reply.text();
  if (reply.status !== 200) throw toStatusError(reply.status, path, text);
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
function toStatusError(status: number, path: string, text: string): ProviderError {
  if (status === 401) return new ProviderError('TRUENAS_KEY_REFUSED');
  if (status === 403) return new ProviderError('TRUENAS_ROLE_MISSING', 'Uploads (filesystem.put) need FULL_ADMIN.');
  const words = text.replace(/\s+/g, ' ').trim().slice(0, 200);
  return new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: status ${status}${words ? `, ${words}` : ''}.`);
}

function toUploadError(error: unknown, path: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code === 'TLS_UNTRUSTED') return new ProviderError('TRUENAS_TLS_UNTRUSTED', '', { cause: error });
  if (error.code === 'TLS_FINGERPRINT_DIFFERS') {
    return new ProviderError('TRUENAS_FINGERPRINT_DIFFERS', error.detail, { cause: error });
  }
  if (error.code !== 'UNREACHABLE') return error;
  // Undici wraps what the body threw, e.g. that the download broke: that is the better story.
  const { cause } = error;
  if (cause instanceof ProviderError) return cause;
  return new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: ${error.message}`, { cause: error });
}
