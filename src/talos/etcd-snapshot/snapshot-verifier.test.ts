import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SnapshotVerifier } from './snapshot-verifier.ts';

const database = randomBytes(4096);
const snapshot = Buffer.concat([database, createHash('sha256').update(database).digest()]);

function verify(bytes: Buffer, pieceBytes = bytes.length || 1): string | undefined {
  const verifier = new SnapshotVerifier();
  for (let at = 0; at < bytes.length; at += pieceBytes) verifier.add(bytes.subarray(at, at + pieceBytes));
  expect(verifier.bytes).toBe(bytes.length);
  return verifier.finish();
}

describe('D50: a snapshot of etcd', () => {
  it.each([1, 7, 31, 32, 33, 512, 4096, 4128])('is whole in pieces of %i bytes', (bytes) => {
    expect(verify(snapshot, bytes)).toBeUndefined();
  });

  it.each<[string, Buffer, RegExp]>([
    ['nothing', Buffer.alloc(0), /cut off after 0 bytes/],
    ['a checksum of nothing', createHash('sha256').digest(), /cut off after 32 bytes/],
    ['a snapshot without its checksum', database, /cut off after 4096 bytes/],
    ['a snapshot that ends within a sector', snapshot.subarray(0, 1000), /cut off after 1000 bytes/],
    ['a snapshot that lacks whole sectors', snapshot.subarray(0, 512 + 32), /checksum/],
    [
      'a snapshot with a changed byte',
      Buffer.concat([Buffer.from([1 ^ (snapshot[0] ?? 0)]), snapshot.subarray(1)]),
      /checksum/,
    ],
    ['a snapshot with a changed checksum', Buffer.concat([database, Buffer.alloc(32)]), /checksum/],
  ])('is not %s', (_, bytes, problem) => {
    expect(verify(bytes)).toMatch(problem);
    expect(verify(bytes, 5)).toMatch(problem);
  });
});
