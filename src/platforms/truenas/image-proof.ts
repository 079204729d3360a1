import { createHash } from 'node:crypto';
import type { Closable } from '../../engine/platform.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { download } from './download.ts';
import { type CachedImage, isAsNoted, type Print, printOf } from './image.ts';
import type { FileStat } from './schema.ts';
import { type Context, systemOf } from './system.ts';
import type { TransferProgress } from './transfers.ts';

const readSeconds = 1800;
/** More images than lie on one system; what is forgotten is read again. */
const mostRead = 1000;

interface ReadFile {
  readonly print: Print;
  readonly inode: FileStat['inode'];
  readonly sha256: string;
  /** It is what was put there. */
  readonly isProven?: boolean;
}

/** What this process has read of files on one system. A file that was written to since counts as not read. */
export class ReadFiles implements Closable {
  readonly #read = new BoundedMap<string, ReadFile>(mostRead);

  /** SHA-256 of what is in the file; undefined when it has to be read for that. */
  hashOf(path: string, file: FileStat): string | undefined {
    return this.#find(path, file)?.sha256;
  }

  remember(path: string, file: FileStat, sha256: string): void {
    this.#read.set(path, { print: printOf(file), inode: file.inode, sha256 });
  }

  /** The hash of the file that was read is the one that was noted when it arrived. */
  prove(path: string): void {
    const known = this.#read.get(path);
    if (known) this.#read.set(path, { ...known, isProven: true });
  }

  /** Whether that is so of the file that lay there, or of this one that lies there now. */
  isProven(path: string, file?: FileStat): boolean {
    return (file ? this.#find(path, file) : this.#read.get(path))?.isProven === true;
  }

  #find(path: string, file: FileStat): ReadFile | undefined {
    const known = this.#read.get(path);
    return known && known.inode === file.inode && isAsNoted(known.print, file) ? known : undefined;
  }

  close(): void {
    this.#read.clear();
  }
}

export const readFilesOf = (context: Context): ReadFiles =>
  context.connections.get(
    `truenas-read-files:${systemOf(context).nas.options.endpoint.socketUrl}`,
    () => new ReadFiles(),
  );

/**
 * Reads an image back from the system, for its hash. A file that is written to meanwhile has another print afterwards, so
 * what was read of it is never taken for the new one.
 */
export async function readImage(
  context: Context,
  { path }: CachedImage,
  file: FileStat,
  signal: AbortSignal,
  progress: TransferProgress,
): Promise<void> {
  const hash = createHash('sha256');
  let read = 0;
  await download(systemOf(context).nas, context, {
    ...{ path, bytes: file.size, signal, seconds: readSeconds },
    see: (piece) => {
      hash.update(piece);
      read += piece.length;
      progress.read = Math.floor((read / file.size) * 100);
    },
  });
  readFilesOf(context).remember(path, file, hash.digest('hex'));
}
