import { describe, expect, it } from 'vitest';

import { type Durable, Process, room, start, useScene } from './scene.ts';

useScene();

describe('what a person has to mend', () => {
  it('a pool without room says so and is gone on with when there is some', async () => {
    await start();
    await room.room.fillPool('tank', 10 * 2 ** 30);
    const durable: Durable = { progress: undefined };
    const process = new Process();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_POOL_FULL',
    });
    await room.room.fillPool('tank', 500 * 2 ** 30);
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });

  it('memory that is not there says so at the start, and nothing is made twice (trap 21)', async () => {
    await start({ seed: { memoryMiB: 2048 } });
    const durable: Durable = { progress: undefined };
    const process = new Process();
    for (let i = 0; i < 3; i += 1) {
      expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({
        kind: 'failed',
        reason: 'TRUENAS_MEMORY_SHORT',
      });
    }
    expect(room.room.nas.vms.size).toBe(1);
  });

  it('a cached image that was changed is not booted from (trap 25)', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const path = String(durable.progress?.facts['image']);
    await room.upload(path, 'something else', { mode: 0o644 });
    expect(await new Process().walk('provision', 'shop-cp-1', { progress: undefined })).toMatchObject({
      kind: 'failed',
      reason: 'TRUENAS_IMAGE_CHANGED',
      message: expect.stringContaining(path),
    });
  });

  it('another system under truenas.url is not taken for one where nothing is left', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    await process.walk('provision', 'shop-cp-0', durable);
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, system: 'other.example.org' } };
    const { vms, datasets } = room.room.nas;
    const kept = { vms: [...vms], datasets: [...datasets] };
    vms.clear();
    for (const id of [...datasets.keys()]) if (id.includes('shop_cp_0')) datasets.delete(id);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({
      kind: 'failed',
      reason: 'SystemChanged',
    });
    for (const [id, vm] of kept.vms) vms.set(id, vm);
    for (const [id, dataset] of kept.datasets) datasets.set(id, dataset);
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
  });
});
