import { describe, expect, it } from 'vitest';
import type { Call } from '../switchboard.ts';

import {
  changing,
  claims,
  type Durable,
  downloads,
  dump,
  Process,
  room,
  shape,
  start,
  text,
  useScene,
} from './scene.ts';

useScene();

/** What is left on record of a process that was killed at its outside call of that number. */
async function provisionKilledAt(at: number): Promise<Durable> {
  const durable: Durable = { progress: undefined };
  const process = new Process();
  let seen = 0;
  const hush = room.switchboard.onCall(() => {
    if (seen === at) void process.kill();
    seen += 1;
  });
  await process.walk('provision', 'shop-cp-0', durable).catch(() => {});
  hush();
  return durable;
}

describe('whatever happens on the way', () => {
  /** Provision and release without a fault: what it makes, and which calls it takes. */
  async function rehearse() {
    await start();
    const first: Durable = { progress: undefined };
    await new Process().walk('provision', 'warm-up', first);
    await new Process().walk('release', 'warm-up', first);
    const empty = text(dump());
    room.switchboard.calls.length = 0;
    const durable: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', durable);
    const provision = room.switchboard.calls.map(({ name }) => name);
    const made = text(shape());
    room.switchboard.calls.length = 0;
    await new Process().walk('release', 'shop-cp-0', durable);
    expect(text(dump())).toBe(empty);
    return { empty, made, provision, release: room.switchboard.calls.map(({ name }) => name) };
  }

  it('killed at any call, of making or of unmaking, it goes on to the same end: nothing doubled, nothing left', async () => {
    const { empty, made, provision, release } = await rehearse();
    for (let at = 0; at < provision.length + release.length; at += 1) {
      const durable: Durable = { progress: undefined };
      let process = new Process();
      let seen = 0;
      const killAt = (call: Call) => {
        if (seen === at) void process.kill();
        if (call.room === 'truenas') seen += 1;
      };
      const hush = room.switchboard.onCall(killAt);
      const resume = async (plan: 'provision' | 'release') => {
        const verdict = await process.walk(plan, 'shop-cp-0', durable).catch((error: unknown) => error);
        if (!process.stop.signal.aborted) return verdict;
        process = new Process();
        return await process.walk(plan, 'shop-cp-0', durable);
      };
      const where = `killed at call ${at} (${[...provision, ...release][at]})`;
      expect(await resume('provision'), where).toMatchObject({ kind: 'finished' });
      expect(text(shape()), where).toBe(made);
      expect(await resume('release'), where).toMatchObject({ kind: 'finished' });
      hush();
      expect(text(dump()), where).toBe(empty);
      await process.kill();
    }
  }, 180_000);

  it('killed at any call and then taken back, nothing is left of what was half made', async () => {
    const { empty, provision } = await rehearse();
    for (let at = 0; at < provision.length; at += 1) {
      const durable = await provisionKilledAt(at);
      const where = `killed at call ${at} (${provision[at]})`;
      expect(await new Process().walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      expect(text(dump()), where).toBe(empty);
      expect(claims.size, where).toBe(0);
    }
  }, 180_000);

  it('killed at any call while the boot image is copied, it copies it again and boots from a complete one only', async () => {
    await start();
    const before = shape().files;
    const undisturbed: Durable = { progress: undefined };
    await new Process().walk('provision', 'shop-cp-0', undisturbed);
    const imageOf = ({ progress }: Durable) =>
      dump().files.find((one) => (one as { path: string }).path === progress?.facts['image']);
    const wanted = imageOf(undisturbed);
    const clean = async () => {
      await new Process().walk('release', 'shop-cp-0', undisturbed);
      const client = await room.login();
      await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
    };
    await clean();
    for (let at = 0; at < 12; at += 1) {
      const durable = await provisionKilledAt(at);
      const where = `killed at call ${at} (${room.switchboard.calls.at(-1)?.name})`;
      const next = new Process();
      expect(await next.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      expect(imageOf(durable), where).toEqual(wanted);
      expect(await next.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
      const client = await room.login();
      await client.call('pool.dataset.delete', 'tank/talos', { recursive: true });
      expect(shape().files, where).toEqual(before);
      await next.kill();
    }
  }, 180_000);

  it.each(['lose-reply', 'drop'] as const)(
    'with %s at any call that changes something, it comes to the same end',
    async (kind) => {
      const { empty, made, provision, release } = await rehearse();
      for (const [plan, names] of [
        ['provision', provision],
        ['release', release],
      ] as const) {
        const counted = names.map((name, index) => ({
          name,
          nth: names.slice(0, index).filter((one) => one === name).length,
        }));
        for (const { name, nth } of counted.filter((call) => changing.test(call.name))) {
          const where = `${kind} at ${name}, number ${nth}`;
          const durable: Durable = { progress: undefined };
          const process = new Process();
          const pattern = new RegExp(`^${name.replace(/[.*+?^$/()|[\]\\]/g, '\\$&')}$`);
          if (plan === 'provision') room.switchboard.fail('truenas', pattern, { kind }, 1, nth);
          expect(await process.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
          expect(text(shape()), where).toBe(made);
          if (plan === 'release') room.switchboard.fail('truenas', pattern, { kind }, 1, nth);
          expect(await process.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
          expect(text(dump()), where).toBe(empty);
          room.switchboard.clear();
          await process.kill();
        }
      }
    },
    180_000,
  );

  it('a restart of the middleware in the middle changes nothing about the end', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    let restarted: Promise<void> | undefined;
    room.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create') restarted ??= room.room.restart();
    });
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    await restarted;
    expect(shape()).toMatchObject({ vms: [expect.stringMatching(/^shop_cp_0_/)], devices: 4 });
  });

  it.each([
    ['truenas', /^POST/, { kind: 'drop' }],
    ['truenas', /^POST/, { kind: 'error', status: 500 }],
    ['image-factory', /^GET/, { kind: 'drop' }],
    ['image-factory', /^GET/, { kind: 'lose-reply' }],
    ['image-factory', /^GET/, { kind: 'error', status: 503 }],
  ] as const)(
    'a copy that broke (%s %s %j) is made again and leaves no image that anybody would boot from',
    async (where, match, fault) => {
      await start();
      room.switchboard.fail(where, match, fault, 1);
      const durable: Durable = { progress: undefined };
      expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(downloads()).toBe(2);
    },
  );

  it('a job that fails after its 200 is noticed (gap G9)', async () => {
    await start();
    room.room.failNextJob('filesystem.put', 'it broke');
    const durable: Durable = { progress: undefined };
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(downloads()).toBe(2);
  });

  it('a VM that was started before it had devices is switched off first (gap G1, trap 60)', async () => {
    await start();
    const durable: Durable = { progress: undefined };
    const first = new Process();
    room.switchboard.onCall(({ name }) => {
      if (name === 'vm.device.create' && room.runner.started.length === 0) void first.kill();
    });
    await first.walk('provision', 'shop-cp-0', durable).catch(() => {});
    await room.room.restart({ hostReboot: true });
    expect(room.runner.started).toHaveLength(1);
    expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(room.runner.started).toHaveLength(2);
    expect(room.runner.started[1]?.cdroms).toHaveLength(2);
  });

  it('a device that gets lost before the start is put back', async () => {
    await start();
    const client = await room.login();
    let lost = false;
    room.switchboard.onCall(({ name }) => {
      if (name !== 'vm.device.create' || lost) return;
      const [device] = room.room.nas.devices.values();
      lost = device !== undefined;
      if (device) void client.call('vm.device.delete', device.id);
    });
    expect(await new Process().walk('provision', 'shop-cp-0', { progress: undefined })).toMatchObject({
      kind: 'finished',
    });
    expect(lost).toBe(true);
    expect(room.runner.started[0]?.disks).toHaveLength(1);
  });
});
