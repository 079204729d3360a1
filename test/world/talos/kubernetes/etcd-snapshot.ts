import { createHash } from 'node:crypto';
import type { StoreContent } from '../../kube/storage/store.ts';
import type { SimulatedEtcdCluster } from './etcd.ts';

/** Size of the pieces of Talos (talos: pkg/chunker/stream). */
const pieceBytes = 1024;
/** A database consists of whole sectors. */
const sectorBytes = 512;
const checksumBytes = 32;

/** `cut`: the node cannot read the snapshot to its end. `changed`: a byte is not what it was. `stalled`: it does not end. */
export type SnapshotFault = 'cut' | 'changed' | 'stalled';

/** What the members of all clusters give as a snapshot. */
export class SnapshotSettings {
  readonly faults = new Set<SnapshotFault>();
  /** A snapshot of a real etcd, with its checksum. Undefined: the objects of the cluster in the frame of etcd. */
  content: Buffer | undefined;
}

/**
 * A snapshot in etcd's frame: whole sectors, then their SHA-256. A node that cannot read its snapshot to the end ends the
 * stream without an error, as the real one does.
 */
export async function* streamSnapshot(
  cluster: SimulatedEtcdCluster,
  { faults, content }: SnapshotSettings,
  signal: AbortSignal,
) {
  const snapshot = Buffer.from(content ?? renderSnapshot(cluster));
  if (faults.has('changed')) snapshot[100] = (snapshot[100] ?? 0) ^ 1;
  const end = faults.has('cut') || faults.has('stalled') ? (snapshot.length - checksumBytes) / 2 : snapshot.length;
  for (let at = 0; at < end; at += pieceBytes) yield { bytes: snapshot.subarray(at, Math.min(end, at + pieceBytes)) };
  if (faults.has('stalled')) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** What a snapshot of a simulated etcd holds. */
interface SnapshotContent extends StoreContent {
  /** The etcd cluster that it was taken of. */
  readonly cluster: string;
}

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

function renderSnapshot({ uid, store }: SimulatedEtcdCluster): Buffer {
  const content: SnapshotContent = { cluster: uid, ...store.dump() };
  const text = Buffer.from(JSON.stringify(content), 'utf8');
  const database = Buffer.concat([text, Buffer.alloc((sectorBytes - (text.length % sectorBytes)) % sectorBytes)]);
  return Buffer.concat([database, sha256(database)]);
}

/** Throws in the words of etcd if the snapshot cannot be restored (etcd: etcdutl/snapshot/v3_snapshot.go). */
export function parseSnapshot(snapshot: Buffer, { skipHashCheck = false } = {}): SnapshotContent {
  const database = snapshot.subarray(0, -checksumBytes);
  const expected = snapshot.subarray(-checksumBytes);
  const found = sha256(database);
  if (!skipHashCheck && (database.length % sectorBytes !== 0 || !found.equals(expected)))
    throw new Error(`expected sha256 [${expected.toString('hex')}], got [${found.toString('hex')}]`);
  const end = database.indexOf(0);
  try {
    return JSON.parse(database.subarray(0, end < 0 ? undefined : end).toString('utf8')) as SnapshotContent;
  } catch (cause) {
    throw new Error('snapshot file integrity check failed: invalid database', { cause });
  }
}
