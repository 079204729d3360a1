import { describe, expect, it } from 'vitest';
import { isFull, seed } from '../../e2e/sweep/draw.ts';
import type { Call } from '../switchboard.ts';
import { listen, provisionUpTo, rehearse, versions } from './rehearsal.ts';
import { claims, type Durable, downloads, dump, Process, room, shape, start, text, useScene } from './scene.ts';

useScene();

/** What is left on record of a process that was killed at its outside call of that number. */
async function provisionKilledAt(at: number, durable: Durable = { progress: undefined }): Promise<Durable> {
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

describe.each(versions.map((version, round) => ({ version, round })))(
  `whatever happens on the way, on TrueNAS $version (SWEEP=${seed})`,
  ({ version, round }) => {
    /** Of the numbers of so many calls those that are struck here: each is on two of the three releases. */
    const drawn = (count: number) =>
      Array.from({ length: count }, (_, at) => at).filter((at) => isFull || (at + seed + round) % versions.length > 0);

    it('T14: killed at a call, of making or of unmaking, it goes on to the same end: nothing doubled, nothing left', async () => {
      const { empty, made, provision, release } = await rehearse(version);
      for (const at of drawn(provision.length + release.length)) {
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

    it('S29: killed at a call and then taken back, nothing is left of what was half made', async () => {
      const { empty, provision } = await rehearse(version);
      for (const at of drawn(provision.length)) {
        const durable = await provisionKilledAt(at);
        const where = `killed at call ${at} (${provision[at]})`;
        expect(await new Process().walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(text(dump()), where).toBe(empty);
        expect(claims.size, where).toBe(0);
      }
    }, 180_000);

    it('S29: a file that a dead process has sent is written before its dataset is destroyed: no folder is left in its place', async () => {
      const { empty } = await rehearse(version);
      const letGo = room.room.hangNextJob('filesystem.put');
      const durable: Durable = { progress: undefined };
      const process = new Process();
      const client = await room.login();
      const writing = [
        ['method', '=', 'filesystem.put'],
        ['state', '=', 'RUNNING'],
      ];
      const walking = process.walk('provision', 'shop-cp-0', durable).catch(() => {});
      await expect.poll(() => client.call('core.get_jobs', writing), { timeout: 30_000 }).toHaveLength(1);
      await process.kill();
      await walking;
      expect(durable.progress?.step).toBe('seed-written');
      let looks = 0;
      room.switchboard.onCall(({ name }) => {
        if (name === 'core.get_jobs') looks += 1;
        if (looks === 3) letGo();
      });
      expect(await new Process().walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(looks).toBeGreaterThanOrEqual(3);
      expect(text(dump())).toBe(empty);
    });

    it('killed at a call while the boot image is copied, it copies it again and boots from a complete one only', async () => {
      await start({ version });
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
      for (const at of drawn(18)) {
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

    it('killed at a call while it makes anew what somebody has deleted, it goes on to the same end', async () => {
      const { empty, made } = await rehearse(version);
      const client = await room.login();
      for (const at of drawn(36)) {
        const durable = await provisionUpTo('powered-on');
        const { vmId, dataset } = durable.progress?.facts ?? {};
        await client.call('vm.delete', vmId);
        await client.call('pool.dataset.delete', dataset, { recursive: true });
        await provisionKilledAt(at, durable);
        const where = `killed at call ${at} (${room.switchboard.calls.at(-1)?.name})`;
        const next = new Process();
        expect(await next.walk('provision', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(text(shape()), where).toBe(made);
        expect(await next.walk('release', 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
        expect(text(dump()), where).toBe(empty);
        await next.kill();
      }
    }, 180_000);

    it('a restart of the middleware in the middle changes nothing about the end', async () => {
      await start({ version });
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
        await start({ version });
        room.switchboard.fail(where, match, fault, 1);
        const durable: Durable = { progress: undefined };
        expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
        expect(downloads()).toBe(2);
      },
    );

    it('T8, G9: a job that fails after its 200 is noticed', async () => {
      await start({ version });
      room.room.failNextJob('filesystem.put', 'it broke');
      const durable: Durable = { progress: undefined };
      expect(await new Process().walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      expect(downloads()).toBe(2);
    });

    it('G1, S60: a VM that was started before it had devices is switched off first', async () => {
      await start({ version });
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
      await start({ version });
      const client = await room.login();
      const process = new Process();
      await listen(process);
      let lost = false;
      room.switchboard.onCall(({ name }) => {
        if (name !== 'vm.device.create' || lost) return;
        const [device] = room.room.nas.devices.values();
        lost = device !== undefined;
        if (device) void client.call('vm.device.delete', device.id);
      });
      expect(await process.walk('provision', 'shop-cp-0', { progress: undefined })).toMatchObject({ kind: 'finished' });
      expect(lost).toBe(true);
      expect(room.runner.started[0]?.disks).toHaveLength(1);
    });
  },
);
