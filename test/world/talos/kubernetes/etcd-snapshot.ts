import { createHash } from 'node:crypto';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ApiObject, StoreContent } from '../../kube/storage/store.ts';
import type { SimulatedEtcdMember } from './etcd.ts';
import { type DatabaseEntry, readDatabase, writeDatabase } from './etcd-database.ts';

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
  /** A snapshot of a real etcd, with its checksum. Undefined: the objects of the cluster in a database of etcd. */
  content: Buffer | undefined;
}

/**
 * A snapshot in etcd's frame: whole sectors, then their SHA-256. A node that cannot read its snapshot to the end ends the
 * stream without an error, as the real one does.
 */
export async function* streamSnapshot(
  member: SimulatedEtcdMember,
  { faults, content }: SnapshotSettings,
  signal: AbortSignal,
) {
  const snapshot = Buffer.from(content ?? renderSnapshot(member));
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

/** Where Kubernetes has its objects in etcd. */
const keyPrefix = '/registry/';
/** The entry of the bucket `meta` with what only the simulator needs. */
const simulatorKey = 'simulator';

export const storageVersionOf = ({ version }: SimulatedEtcdMember): string => version.replace(/\.\d+$/, '.0');

function renderSnapshot(member: SimulatedEtcdMember): Buffer {
  const { uid: cluster, store } = member.cluster;
  const { revision, tables } = store.dump();
  const objects = Object.entries(tables)
    .flatMap(([table, list]) => list.map((object) => ({ table, object, revision: revisionOf(object) })))
    .sort((a, b) => a.revision - b.revision);
  const database = writeDatabase({
    key: objects.map(({ table, object }): DatabaseEntry => [revisionKey(object), keyValue(table, object)]),
    meta: [
      [Buffer.from(simulatorKey), Buffer.from(JSON.stringify({ cluster, revision }))],
      [Buffer.from('storageVersion'), Buffer.from(storageVersionOf(member))],
    ],
  });
  return Buffer.concat([database, sha256(database)]);
}

/** Throws in the words of etcd if the snapshot cannot be restored (etcd: etcdutl/snapshot/v3_snapshot.go). */
export function parseSnapshot(snapshot: Buffer, { skipHashCheck = false } = {}): SnapshotContent {
  const hasChecksum = snapshot.length % sectorBytes === checksumBytes;
  if (!hasChecksum && !skipHashCheck) throw new Error('snapshot missing hash but --skip-hash-check=false');
  const database = hasChecksum ? snapshot.subarray(0, -checksumBytes) : snapshot;
  const expected = snapshot.subarray(-checksumBytes);
  const found = sha256(database);
  if (!skipHashCheck && !found.equals(expected))
    throw new Error(`expected sha256 [${expected.toString('hex')}], got [${found.toString('hex')}]`);
  try {
    return parseDatabase(database);
  } catch (cause) {
    throw new Error('snapshot file integrity check failed: invalid database', { cause });
  }
}

function parseDatabase(database: Buffer): SnapshotContent {
  const { key = [], meta = [] } = readDatabase(database);
  const simulator = meta.find(([name]) => name.toString() === simulatorKey)?.[1].toString() ?? '';
  const { cluster, revision } = JSON.parse(simulator) as Pick<SnapshotContent, 'cluster' | 'revision'>;
  const tables: Record<string, ApiObject[]> = {};
  for (const [, bytes] of key) {
    const { table, object } = parseKeyValue(bytes);
    tables[table] = [...(tables[table] ?? []), object];
  }
  return { cluster, revision, tables };
}

const revisionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion);

/** The key of an entry is its revision (etcd: server/storage/mvcc/revision.go). */
function revisionKey(object: ApiObject): Buffer {
  const key = Buffer.alloc(17);
  key.writeBigUInt64BE(BigInt(revisionOf(object)));
  key.write('_', 8);
  return key;
}

/** `/NAMESPACE/NAME` of an object, or `/NAME`. */
const nameSuffix = ({ metadata: { namespace, name } }: ApiObject): string =>
  `${namespace === undefined ? '' : `/${namespace}`}/${name}`;

/** The fields of etcd's `KeyValue` (etcd: api/mvccpb/kv.proto). */
const fields = { key: 1, createRevision: 2, modRevision: 3, version: 4, value: 5 } as const;

function keyValue(table: string, object: ApiObject): Buffer {
  const revision = revisionOf(object);
  const writer = new BinaryWriter();
  writer.tag(fields.key, WireType.LengthDelimited).string(`${keyPrefix}${table}${nameSuffix(object)}`);
  writer.tag(fields.createRevision, WireType.Varint).int64(revision);
  writer.tag(fields.modRevision, WireType.Varint).int64(revision);
  writer.tag(fields.version, WireType.Varint).int64(1);
  writer.tag(fields.value, WireType.LengthDelimited).string(JSON.stringify(object));
  return Buffer.from(writer.finish());
}

function parseKeyValue(bytes: Buffer): { readonly table: string; readonly object: ApiObject } {
  const reader = new BinaryReader(bytes);
  const texts: Record<number, string> = {};
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) texts[field] = reader.string();
    else reader.skip(type);
  }
  const object = JSON.parse(texts[fields.value] ?? '') as ApiObject;
  const key = texts[fields.key] ?? '';
  return { table: key.slice(keyPrefix.length, -nameSuffix(object).length), object };
}
