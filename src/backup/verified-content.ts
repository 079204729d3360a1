import { createHash } from 'node:crypto';
import { ProviderError } from '../lib/errors.ts';
import type { SecretString } from '../lib/secret-string.ts';
import { SnapshotVerifier } from '../talos/etcd-snapshot/snapshot-verifier.ts';
import type { BackupStorage } from './backup-storage.ts';
import { decryptContent } from './decrypt.ts';

/** An object of a backup, and what its manifest says of it. */
export interface BackupObject {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Its content is a snapshot of etcd, which has a checksum of its own. */
  readonly isSnapshot: boolean;
}

/**
 * The content of an object, in clear with identities. The stream ends in order only if everything is as the manifest says,
 * and, of a snapshot in clear, as its own checksum says. So what was read must not be used before the end.
 */
export async function openVerified(
  storage: BackupStorage,
  object: BackupObject,
  identities: readonly SecretString[] = [],
): Promise<ReadableStream<Uint8Array>> {
  const { key, isSnapshot } = object;
  const found = await storage.read(key);
  if (!found) throw new ProviderError('BACKUP_MISSING', `The bucket has no object ${key}. Use another backup.`);
  const content = found.content.pipeThrough(verifyObject(object));
  if (identities.length === 0) return content;
  const clear = await decryptContent(content, identities);
  return isSnapshot ? clear.pipeThrough(verifySnapshot(key)) : clear;
}

/** The error of a content that does not end in order. One of the decryption says less than the key. */
export const toDamaged = (error: unknown, key: string): unknown =>
  error instanceof ProviderError || (error instanceof DOMException && error.name !== 'OperationError')
    ? error
    : damaged(key, 'it cannot be decrypted to its end', error);

function verifyObject({ key, bytes, sha256 }: BackupObject): TransformStream<Uint8Array, Uint8Array> {
  const hash = createHash('sha256');
  let size = 0;
  return new TransformStream({
    transform(piece, controller) {
      hash.update(piece);
      size += piece.length;
      controller.enqueue(piece);
    },
    flush() {
      if (size !== bytes) throw damaged(key, `it has ${size} bytes instead of ${bytes}`);
      if (hash.digest('hex') !== sha256) throw damaged(key, 'its SHA-256 is not that of its manifest');
    },
  });
}

function verifySnapshot(key: string): TransformStream<Uint8Array, Uint8Array> {
  const verifier = new SnapshotVerifier();
  return new TransformStream({
    transform(piece, controller) {
      verifier.add(piece);
      controller.enqueue(piece);
    },
    flush() {
      const problem = verifier.finish();
      if (problem !== undefined) throw damaged(key, problem);
    },
  });
}

const damaged = (key: string, problem: string, cause?: unknown): ProviderError =>
  new ProviderError('BACKUP_DAMAGED', `${key}: ${problem}. Use another backup.`, { cause });
