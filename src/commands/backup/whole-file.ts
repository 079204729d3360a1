import { createWriteStream } from 'node:fs';
import { lstat, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { type ContentProducer, encryptContent } from '../../backup/encrypt.ts';
import { ProviderError } from '../../lib/errors.ts';

export interface WholeFileOptions {
  /** A new file, which only the user can read. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Writes a file that is encrypted with age while it is produced, so that its content is never whole in memory and never in
 * clear on a disk. The file exists only if everything was written: `produce` may still throw after its last piece.
 */
export async function writeEncryptedFile(
  options: WholeFileOptions & { readonly recipients: readonly string[] },
  produce: ContentProducer,
): Promise<void> {
  const content = await encryptContent(options.recipients, produce);
  await writeWholeFile(options, content.encrypted, content.produced);
}

/** Writes a file that exists only if the content ended in order, and `isWhole` was fulfilled. */
export async function writeWholeFile(
  { path, signal }: WholeFileOptions,
  content: ReadableStream<Uint8Array>,
  isWhole: Promise<void> = Promise.resolve(),
): Promise<void> {
  const partial = `${path}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  try {
    const [written, produced] = await Promise.allSettled([
      pipeline(Readable.fromWeb(content as NodeReadableStream), file, { signal }),
      isWhole,
    ]);
    signal.throwIfAborted();
    if (written.status === 'rejected' && isFileError(written.reason)) throw fileRejected(path, written.reason.code);
    for (const end of [produced, written]) if (end.status === 'rejected') throw end.reason;
    await publish(partial, path);
  } finally {
    if (!(isFileError(file.errored) && file.errored.code === 'EEXIST')) await rm(partial, { force: true });
  }
}

async function publish(partial: string, path: string): Promise<void> {
  if (await lstat(path).catch(() => undefined)) throw fileRejected(path, 'EEXIST');
  await rename(partial, path);
}

const fileRejected = (path: string, code = ''): ProviderError =>
  new ProviderError('OUTPUT_REJECTED', `--output: ${path} cannot be written (${code}). Use another folder.`);

const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;
