/**
 * The database file of etcd, in the form of bbolt (bbolt: internal/common): pages of a fixed size, two of them with the
 * meta data, one tree for each bucket. Each tree has one leaf here, which spans as many pages as it needs.
 */
const pageBytes = 4096;
const pageHeaderBytes = 16;
const elementBytes = 16;
const pageFlags = { leaf: 0x02, meta: 0x04, freelist: 0x10 } as const;
const bucketFlag = 0x01;
const magic = 0xed0cdaed;
const formatVersion = 2;
/** Positions in the file: the first byte of the meta data, and in it the page of the root bucket. */
const metaStart = pageHeaderBytes;
const rootPageField = metaStart + 16;
const checksumField = metaStart + 56;

/** A key and its value. */
export type DatabaseEntry = readonly [key: Buffer, value: Buffer];

/** The buckets of a database by name. */
export type DatabaseBuckets = Readonly<Record<string, readonly DatabaseEntry[]>>;

/** The file with these buckets. */
export function writeDatabase(buckets: DatabaseBuckets): Buffer {
  const [freelistPage, rootPage] = [2, 3];
  const root: DatabaseEntry[] = [];
  const leaves: Buffer[] = [];
  const names = Object.keys(buckets).sort();
  let nextPage = rootPage + 1;
  for (const name of names) {
    root.push([Buffer.from(name), bucketHeader(nextPage)]);
    const leaf = leafPage(nextPage, buckets[name] ?? [], 0);
    leaves.push(leaf);
    nextPage += leaf.length / pageBytes;
  }
  const freelist = pageOf(freelistPage, pageFlags.freelist, 0, Buffer.alloc(0));
  const metas = [0, 1].map((id) => metaPage(id, { rootPage, freelistPage, pages: nextPage }));
  return Buffer.concat([...metas, freelist, leafPage(rootPage, root, bucketFlag), ...leaves]);
}

/** Throws if the bytes are not a database that {@link writeDatabase} wrote. */
export function readDatabase(file: Buffer): DatabaseBuckets {
  if (file.length <= 2 * pageBytes || file.readUInt32LE(metaStart) !== magic) throw new Error('invalid database');
  if (file.readBigUInt64LE(checksumField) !== fnv64a(file.subarray(metaStart, checksumField)))
    throw new Error('checksum error');
  const root = readLeaf(file, Number(file.readBigUInt64LE(rootPageField)));
  return Object.fromEntries(
    root.map(([name, header]) => [name.toString(), readLeaf(file, Number(header.readBigUInt64LE()))]),
  );
}

function pageOf(id: number, flags: number, count: number, body: Buffer): Buffer {
  const pages = Math.ceil((pageHeaderBytes + body.length) / pageBytes);
  const page = Buffer.alloc(pages * pageBytes);
  page.writeBigUInt64LE(BigInt(id), 0);
  page.writeUInt16LE(flags, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(pages - 1, 12);
  body.copy(page, pageHeaderBytes);
  return page;
}

/** The root page of a bucket, and its sequence. */
function bucketHeader(page: number): Buffer {
  const header = Buffer.alloc(16);
  header.writeBigUInt64LE(BigInt(page));
  return header;
}

interface MetaFields {
  readonly rootPage: number;
  readonly freelistPage: number;
  readonly pages: number;
}

/** The transaction of each of the two pages is its number: the second one counts. */
function metaPage(id: number, { rootPage, freelistPage, pages }: MetaFields): Buffer {
  const meta = Buffer.alloc(64);
  meta.writeUInt32LE(magic, 0);
  meta.writeUInt32LE(formatVersion, 4);
  meta.writeUInt32LE(pageBytes, 8);
  bucketHeader(rootPage).copy(meta, 16);
  meta.writeBigUInt64LE(BigInt(freelistPage), 32);
  meta.writeBigUInt64LE(BigInt(pages), 40);
  meta.writeBigUInt64LE(BigInt(id), 48);
  meta.writeBigUInt64LE(fnv64a(meta.subarray(0, 56)), 56);
  return pageOf(id, pageFlags.meta, 0, meta);
}

/** Entries in the order of their keys; the position of a key is relative to its element. */
function leafPage(id: number, entries: readonly DatabaseEntry[], flags: number): Buffer {
  const elements = Buffer.alloc(entries.length * elementBytes);
  const data: Buffer[] = [];
  let dataStart = elements.length;
  for (const [index, [key, value]] of entries.entries()) {
    const at = index * elementBytes;
    elements.writeUInt32LE(flags, at);
    elements.writeUInt32LE(dataStart - at, at + 4);
    elements.writeUInt32LE(key.length, at + 8);
    elements.writeUInt32LE(value.length, at + 12);
    data.push(key, value);
    dataStart += key.length + value.length;
  }
  return pageOf(id, pageFlags.leaf, entries.length, Buffer.concat([elements, ...data]));
}

function readLeaf(file: Buffer, page: number): DatabaseEntry[] {
  const start = page * pageBytes;
  if (start + pageHeaderBytes > file.length || file.readUInt16LE(start + 8) !== pageFlags.leaf)
    throw new Error(`page ${page} is not a leaf`);
  return Array.from({ length: file.readUInt16LE(start + 10) }, (_, index) => {
    const at = start + pageHeaderBytes + index * elementBytes;
    const key = at + file.readUInt32LE(at + 4);
    const value = key + file.readUInt32LE(at + 8);
    return [file.subarray(key, value), file.subarray(value, value + file.readUInt32LE(at + 12))];
  });
}

/** FNV-1a of 64 bits. */
function fnv64a(bytes: Buffer): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
