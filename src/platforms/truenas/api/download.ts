import type { PlatformContext } from '../../../engine/contexts.ts';
import { deadlineSignal } from '../../../lib/deadline.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { type HttpResponse, sendHttpRequest } from '../../../lib/net/http.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { TrueNasError } from '../error-codes.ts';
import type { TrueNasClient } from './client.ts';
import { fileEndpointOf, toFileError } from './file-http.ts';
import { DownloadTicket } from './schema.ts';

export interface DownloadRequest {
  readonly path: string;
  /** Size of the file in bytes. A longer download is cut off, and a shorter one fails. */
  readonly bytes: number;
  readonly signal: AbortSignal;
  readonly seconds: number;
  /** Called with each chunk, in order. It must not throw. */
  see(chunk: Uint8Array): void;
}

/**
 * Reads a file of the system in chunks. A job on the system writes what we read. When it fails, the HTTP reply is
 * successful but too short (middleware: apps/file_app.py), so both the length and the result of the job are checked.
 */
export async function download(
  nas: TrueNasClient,
  context: PlatformContext<TrueNasConfig>,
  file: DownloadRequest,
): Promise<void> {
  const { path, bytes, seconds } = file;
  const signal = deadlineSignal(seconds, file.signal);
  await nas.jobs.subscribe(signal);
  const parameters = ['filesystem.get', [path], 'file'];
  const [id, way] = await nas.change('core.download', parameters, DownloadTicket, { signal: file.signal });
  const failed = (why: string) => new TrueNasError('TRUENAS_DOWNLOAD_FAILED', `${path}: ${why}.`);
  const { url, agent } = fileEndpointOf(context);
  let read = 0;
  try {
    // The token in the path authorizes the download: the key is not sent.
    const reply = await sendHttpRequest(new URL(way, url), { signal, agent });
    if (reply.status !== 200) throw await toStatusError(reply, failed);
    for await (const chunk of reply.body) {
      read += chunk.length;
      if (read > bytes) throw failed(`more than ${bytes} bytes were received`);
      file.see(chunk);
    }
  } catch (error) {
    throw toFileError(error, 'TRUENAS_DOWNLOAD_FAILED', path);
  }
  await nas.jobs.wait(id, { signal: file.signal, seconds, method: 'filesystem.get', firstArgument: path });
  if (read < bytes) throw failed(`${read} of ${bytes} bytes were received`);
}

async function toStatusError(reply: HttpResponse, failed: (why: string) => ProviderError): Promise<ProviderError> {
  await reply.discard();
  return failed(`status ${reply.status}`);
}
