import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSnapshotStatus, restoreSnapshot } from '../../../peers/etcdutl.ts';
import { missingPeers } from '../../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../../support/describe-unless-missing.ts';
import { createKubeStore } from '../../../world/kube/storage/store.ts';
import { SimulatedEtcdCluster, type SimulatedEtcdMember } from '../../../world/talos/kubernetes/etcd.ts';
import { parseSnapshot, SnapshotSettings, streamSnapshot } from '../../../world/talos/kubernetes/etcd-snapshot.ts';

const cluster = new SimulatedEtcdCluster('');
/** More than fit on a page of the database. */
const maps = 100;
let snapshot: Buffer;

async function readSnapshot(version: string): Promise<Buffer> {
  const member = { cluster, version } as SimulatedEtcdMember;
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of streamSnapshot(member, new SnapshotSettings(), new AbortController().signal))
    pieces.push(bytes);
  return Buffer.concat(pieces);
}

beforeAll(async () => {
  const { store } = cluster;
  store.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  for (let index = 0; index < maps; index += 1)
    store.put({
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: { namespace: 'shop', name: `map-${index}` },
      data: { text: 'ü'.repeat(100) },
    });
  store.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'map-0' }, data: {} });
  snapshot = await readSnapshot('3.6.12');
});

it('a snapshot holds the objects and the revision of its cluster', () => {
  const store = createKubeStore();
  const { cluster: uid, ...content } = parseSnapshot(snapshot);
  store.load(content);
  expect(uid).toBe(cluster.uid);
  expect(store.revision).toBe(cluster.store.revision);
  for (const kind of ['Namespace', 'ConfigMap'])
    expect(store.list({ apiVersion: 'v1', kind })).toEqual(cluster.store.list({ apiVersion: 'v1', kind }));
});

it('a snapshot that is cut off, changed or no database is refused in the words of etcd', () => {
  const database = randomBytes(512);
  const random = Buffer.concat([database, createHash('sha256').update(database).digest()]);
  const changed = Buffer.from(snapshot);
  changed[100] = (changed[100] ?? 0) ^ 1;
  expect(() => parseSnapshot(snapshot.subarray(0, -32))).toThrow('snapshot missing hash but --skip-hash-check=false');
  expect(() => parseSnapshot(changed)).toThrow(/^expected sha256 \[[0-9a-f]{64}\], got \[[0-9a-f]{64}\]$/);
  expect(() => parseSnapshot(random)).toThrow('integrity check failed');
  // A copy of the file of a running etcd has no checksum.
  expect(parseSnapshot(snapshot.subarray(0, -32), { skipHashCheck: true })).toEqual(parseSnapshot(snapshot));
});

describeUnlessMissing('with the real etcdutl', missingPeers('etcdutl'), () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['3.6.12', '3.6.0'],
    ['3.7.1', '3.7.0'],
  ])('a snapshot of etcd %s is a whole database that can be restored', async (version, storageVersion) => {
    const path = join(folder, version);
    writeFileSync(path, await readSnapshot(version));
    expect(readSnapshotStatus(path)).toMatchObject({
      ...{ revision: cluster.store.revision, totalKey: maps + 1, version: storageVersion },
    });
    expect(restoreSnapshot(path, mkdtempSync(join(folder, 'restore-')))).toContain('restored snapshot');
  });
});
