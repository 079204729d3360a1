import { createHash } from 'node:crypto';
import type { Closable } from '../../../../engine/connection.ts';
import { LruMap } from '../../../../lib/lru-map.ts';
import { download } from '../../api/download.ts';
import type { FileStat } from '../../api/schema.ts';
import { machineScopeOf, type TrueNasStepContext } from '../machine-scope.ts';
import type { TransferProgress } from './background-transfers.ts';
import { type CachedImage, type FileVersion, fileVersionOf, isSameFileVersion } from './cached-image.ts';

const readTimeoutSeconds = 1800;
/** More than the images on one system; an evicted file is read again. */
const maxHashedFiles = 1000;

interface HashedFile {
  readonly print: FileVersion;
  readonly inode: FileStat['inode'];
  readonly sha256: string;
  /** The hash matches the record of the image. */
  readonly isProven?: boolean;
}

/** Hashes of files on one system that this process has read. A file that was written to since counts as unread. */
export class HashedFiles implements Closable {
  readonly #read = new LruMap<string, HashedFile>(maxHashedFiles);

  /** SHA-256 of the file; undefined when it has to be read first. */
  hashOf(path: string, file: FileStat): string | undefined {
    return this.#find(path, file)?.sha256;
  }

  remember(path: string, file: FileStat, sha256: string): void {
    this.#read.set(path, { print: fileVersionOf(file), inode: file.inode, sha256 });
  }

  /** Marks the read file as verified: its hash is the recorded one. */
  verify(path: string): void {
    const known = this.#read.get(path);
    if (known) this.#read.set(path, { ...known, isProven: true });
  }

  /** True when the file that was read, or this current file, is verified. */
  isProven(path: string, file?: FileStat): boolean {
    return (file ? this.#find(path, file) : this.#read.get(path))?.isProven === true;
  }

  #find(path: string, file: FileStat): HashedFile | undefined {
    const known = this.#read.get(path);
    return known && known.inode === file.inode && isSameFileVersion(known.print, file) ? known : undefined;
  }

  close(): void {
    this.#read.clear();
  }
}

export const hashedFilesOf = (context: TrueNasStepContext): HashedFiles =>
  context.connections.get(
    `truenas-read-files:${machineScopeOf(context).nas.options.endpoint.socketUrl}`,
    () => new HashedFiles(),
  );

/**
 * Reads an image back from the system and hashes it. A write meanwhile changes the file version, so the hash is never
 * used for the new file.
 */
export async function hashImage(
  context: TrueNasStepContext,
  { path }: CachedImage,
  file: FileStat,
  signal: AbortSignal,
  progress: TransferProgress,
): Promise<void> {
  const hash = createHash('sha256');
  let read = 0;
  await download(machineScopeOf(context).nas, context, {
    ...{ path, bytes: file.size, signal, seconds: readTimeoutSeconds },
    see: (chunk) => {
      hash.update(chunk);
      read += chunk.length;
      progress.read = Math.floor((read / file.size) * 100);
    },
  });
  hashedFilesOf(context).remember(path, file, hash.digest('hex'));
}
