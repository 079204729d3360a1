import { createHash, randomBytes } from 'node:crypto';

/** Size of the pieces of Talos (talos: pkg/chunker/stream). */
const pieceBytes = 1024;
const databaseBytes = 64 * 1024;

/** `cut`: the node cannot read the snapshot to its end. `changed`: a byte is not what it was. */
export type SnapshotFault = 'cut' | 'changed';

/**
 * A snapshot in etcd's frame: whole sectors, then their SHA-256. The database is random. A node that cannot read its
 * snapshot to the end ends the stream without an error, as the real one does.
 */
export function* streamSnapshot(faults: ReadonlySet<SnapshotFault>) {
  const database = randomBytes(databaseBytes);
  const checksum = createHash('sha256').update(database).digest();
  if (faults.has('changed')) database[100] = (database[100] ?? 0) ^ 1;
  const snapshot = Buffer.concat([database, checksum]);
  const end = faults.has('cut') ? databaseBytes / 2 : snapshot.length;
  for (let at = 0; at < end; at += pieceBytes) yield { bytes: snapshot.subarray(at, Math.min(end, at + pieceBytes)) };
}
