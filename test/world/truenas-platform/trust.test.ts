import { describe, expect, it } from 'vitest';
import { deadline } from '../../../src/lib/deadline.ts';
import { fingerprintAt } from '../../../src/lib/pin.ts';
import { check, Process, room, shape, start, useScene } from './scene.ts';

useScene();

describe('a system whose certificate nobody vouches for', () => {
  const pinned = (tlsFingerprint: string) => ({ caBundle: undefined, tlsFingerprint });
  const shown = async () => await fingerprintAt(new URL(room.room.line.url).host, deadline(10));

  it('T3: is spoken to and written to when its fingerprint is named', async () => {
    await start();
    const change = pinned((await shown()).replaceAll(':', '').toLowerCase());
    expect(await check(new Process(), change)).toEqual([]);
    expect(await new Process().walk('provision', 'shop-cp-0', { progress: undefined }, change)).toMatchObject({
      kind: 'finished',
    });
    expect(shape().files).toHaveLength(2);
  });

  it('T3: is refused with another, and both are named', async () => {
    await start();
    expect(await check(new Process(), pinned('ab'.repeat(32)))).toEqual([
      {
        field: 'truenas.tlsFingerprint',
        reason: 'FingerprintDiffers',
        message: expect.stringContaining(`It is ${await shown()}, not AB:AB:`),
      },
    ]);
  });
});
