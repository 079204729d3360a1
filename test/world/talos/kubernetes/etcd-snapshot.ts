import { createHash, randomBytes } from 'node:crypto';

/** Size of the pieces of Talos (talos: pkg/chunker/stream). */
const pieceBytes = 1024;
const databaseBytes = 64 * 1024;

/** `cut`: the node cannot read the snapshot to its end. `changed`: a byte is not what it was. `stalled`: it does not end. */
export type SnapshotFault = 'cut' | 'changed' | 'stalled';

/** What the members of all clusters give as a snapshot. */
export class SnapshotSettings {
  readonly faults = new Set<SnapshotFault>();
  /** A snapshot of a real etcd, with its checksum. Undefined: a random database in the frame of etcd. */
  content: Buffer | undefined;
}

/**
 * A snapshot in etcd's frame: whole sectors, then their SHA-256. A node that cannot read its snapshot to the end ends the
 * stream without an error, as the real one does.
 */
export async function* streamSnapshot({ faults, content }: SnapshotSettings, signal: AbortSignal) {
  const snapshot = Buffer.from(content ?? randomSnapshot());
  if (faults.has('changed')) snapshot[100] = (snapshot[100] ?? 0) ^ 1;
  const end = faults.has('cut') || faults.has('stalled') ? (snapshot.length - 32) / 2 : snapshot.length;
  for (let at = 0; at < end; at += pieceBytes) yield { bytes: snapshot.subarray(at, Math.min(end, at + pieceBytes)) };
  if (faults.has('stalled')) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function randomSnapshot(): Buffer {
  const database = randomBytes(databaseBytes);
  return Buffer.concat([database, createHash('sha256').update(database).digest()]);
}
