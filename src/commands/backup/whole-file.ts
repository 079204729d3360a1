import { createWriteStream } from 'node:fs';
import { lstat, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type ContentProducer, encryptContent } from '../../backup/encrypt.ts';
import { ProviderError } from '../../lib/errors.ts';
import { WatchedSource } from '../../lib/watched-source.ts';

export interface WholeFileOptions {
  /** A new file, which only the user can read. */
  readonly path: string;
  /** The flag that has led to the path. */
  readonly flag: string;
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
  { path, flag, signal }: WholeFileOptions,
  content: ReadableStream<Uint8Array>,
  isWhole: Promise<void> = Promise.resolve(),
): Promise<void> {
  const partial = `${path}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  const watched = new WatchedSource(content);
  try {
    const [written, produced] = await Promise.allSettled([pipeline(watched, file, { signal }), isWhole]);
    signal.throwIfAborted();
    if (written.status === 'rejected') {
      // A connection of the producer has errors of the same form as the file.
      if (!watched.hasFailed && isFileError(written.reason)) throw fileRejected({ path, flag }, written.reason.code);
      throw watched.errorOf(written.reason);
    }
    if (produced.status === 'rejected') throw produced.reason;
    await publish(partial, { path, flag });
  } finally {
    if (!(isFileError(file.errored) && file.errored.code === 'EEXIST')) await rm(partial, { force: true });
  }
}

type Target = Pick<WholeFileOptions, 'path' | 'flag'>;

async function publish(partial: string, { path, flag }: Target): Promise<void> {
  if (await lstat(path).catch(() => undefined)) throw fileRejected({ path, flag }, 'EEXIST');
  await rename(partial, path);
}

const fileRejected = ({ path, flag }: Target, code = ''): ProviderError =>
  new ProviderError('OUTPUT_REJECTED', `${flag}: ${path} cannot be written (${code}). Use another path.`);

const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;
