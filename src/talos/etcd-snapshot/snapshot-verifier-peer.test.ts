import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chooseEtcdSettings, readEtcdSnapshot, startEtcd } from '../../../test/peers/etcd.ts';
import { missingPeers } from '../../../test/peers/find-peer.ts';
import type { PeerProcess } from '../../../test/peers/peer-process.ts';
import { describeUnlessMissing } from '../../../test/support/describe-unless-missing.ts';
import { SnapshotVerifier } from './snapshot-verifier.ts';

function verify(pieces: readonly Uint8Array[]): string | undefined {
  const verifier = new SnapshotVerifier();
  for (const piece of pieces) verifier.add(piece);
  return verifier.finish();
}

describeUnlessMissing('D50: a snapshot of the real etcd', missingPeers('etcd'), () => {
  let folder: string;
  let etcd: PeerProcess;
  let pieces: readonly Buffer[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'snapshot-'));
    const settings = await chooseEtcdSettings('127.0.0.1', folder);
    etcd = await startEtcd(settings);
    pieces = await readEtcdSnapshot(settings.url);
  }, 90_000);
  afterAll(async () => {
    await etcd?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('is whole as it is streamed', () => {
    expect(pieces.length).toBeGreaterThan(1);
    expect(verify(pieces)).toBeUndefined();
  });

  it('is not whole without its last piece, or with a changed one', () => {
    expect(verify(pieces.slice(0, -1))).toMatch(/cut off|checksum/);
    const [first = Buffer.alloc(0), ...rest] = pieces;
    const changed = Buffer.from(first);
    changed[200] = (changed[200] ?? 0) ^ 1;
    expect(verify([changed, ...rest])).toMatch(/checksum/);
  });
});
