import { describe, expect, it } from 'vitest';
import { diskKeyName } from '../../../src/api/names.ts';
import { passphraseKey } from '../../../src/controllers/disk-keys.ts';
import type { Facts } from '../../../src/engine/platform.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { keyRoom } from '../../support/process-life.ts';
import { Keeping, member } from './keeping.ts';
import { join, provisionUpTo, versions } from './rehearsal.ts';
import { changing, type Durable, dump, Process, room, start, text, useScene, vmOf } from './scene.ts';

useScene();

const seed = { pools: [{ name: 'tank' }, { name: 'fast' }] };
const disks = [{ name: 'data', sizeGiB: 20, pool: 'fast' }];
const small = { name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 };
const change = { sizes: [{ ...small, encrypted: true, disks }] };
const machine = 'shop-cp-0';
const secretName = diskKeyName(machine);

const passphrase = (): string =>
  Buffer.from(keyRoom.secrets.get(secretName)?.data?.[passphraseKey] ?? '', 'base64').toString();
const kept = (id: string): boolean => /^(\/mnt\/)?(tank|fast)\/talos(\/images(\/|$)|$)/.test(id);
/** What there is but for folders and images that stay on purpose. */
const rest = () => {
  const all = dump();
  return text({
    ...all,
    datasets: all.datasets.filter((one) => !kept((one as { id: string }).id)),
    files: all.files.filter((one) => !kept((one as { path: string }).path)),
  });
};
/** Ours, with what each is encrypted by. */
const encryption = () =>
  [...room.room.nas.datasets.values()]
    .filter(({ id }) => id.includes('/shop_cp_0_'))
    .map((one) => [one.id.replace(/shop_cp_0_\w+/, 'm'), one.encryption && { ...one.encryption, secret: '' }]);
const own = (loaded = true) => ({ algorithm: 'AES-256-GCM', format: 'passphrase', loaded, secret: '' });
const roots = () =>
  [...room.room.nas.datasets.values()].filter((one) => one.encryption && one.id.includes('shop_cp_0'));
const areLocked = () => roots().map((one) => !one.encryption?.loaded);
const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const reboot = () => room.room.restart({ hostReboot: true });
const isOn = () => vmOf(machine)?.guest !== undefined;
const unlocks = () => room.switchboard.calls.filter(({ name }) => name === 'pool.dataset.unlock').length;

async function make(durable: Durable = { progress: undefined }, wish: object = change): Promise<Durable> {
  const process = new Process();
  expect(await process.walk('provision', machine, durable, wish)).toMatchObject({ kind: 'finished' });
  return durable;
}
const release = (durable: Durable) => new Process().walk('release', machine, durable, change);
async function keep(version = '25.10'): Promise<Keeping> {
  await start({ version, seed });
  return new Keeping(await member(change), {}, change);
}
const well = { reasons: [], verdict: { kind: 'finished' } };

describe.each(versions)('an encrypted machine on TrueNAS %s', (version) => {
  it('T26, S5, S34, G11: has one passphrase on all its pools, which TrueNAS is handed and nothing shows, and goes without a trace', async () => {
    await start({ version, seed });
    const before = rest();
    const durable = await make();
    expect(encryption()).toEqual([
      ['tank/talos/m', own()],
      ['tank/talos/m/boot', null],
      ['fast/talos/m', own()],
      ['fast/talos/m/disk-data', null],
    ]);
    const key = passphrase();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(roots().map((one) => one.encryption?.secret))).toEqual(new Set([key]));
    const [made] = keyRoom.calls.filter((one) => one.startsWith('create'));
    expect(made).toBe(`create ${secretName}`);
    expect(text([dump(), durable])).not.toContain(key);
    const told = room.switchboard.calls.filter(({ detail }) => text(detail ?? '').includes(key));
    expect(told.map(({ name }) => name)).toEqual(['pool.dataset.create', 'pool.dataset.create']);
    expect(text(await call('pool.dataset.query'))).not.toContain(key);
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([rest(), keyRoom.secrets.size]).toEqual([before, 0]);
  });

  it('T26, G18: is unlocked by itself after the system was restarted, on all pools before it is started', async () => {
    const keeping = await keep(version);
    await reboot();
    expect([areLocked(), isOn()]).toEqual([[true, true], false]);
    room.switchboard.calls.length = 0;
    expect(await keeping.rest()).toMatchObject(well);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
    const made = room.switchboard.calls.map(({ name }) => name).filter((name) => /unlock|start$/.test(name));
    expect(made).toEqual(['pool.dataset.unlock', 'pool.dataset.unlock', 'vm.start']);
    expect(text(await call('core.get_jobs'))).not.toContain(passphrase());
  });

  it('T26: goes while it is locked, and its key after it', async () => {
    await start({ version, seed });
    const before = rest();
    const durable = await make();
    join(durable);
    await reboot();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([rest(), keyRoom.secrets.size, unlocks()]).toEqual([before, 0, 0]);
  });
});

describe('an encrypted machine', () => {
  it.each(['dataset-created', 'data-disks-created', 'seed-written', 'devices-attached', 'powered-on'])(
    'T26, G18: whose system is restarted while it is in %s goes on to the same end',
    async (step) => {
      await start({ seed });
      const durable = await provisionUpTo(step, machine, change);
      const key = passphrase();
      await reboot();
      expect(await new Process().walk('provision', machine, durable, change)).toMatchObject({ kind: 'finished' });
      expect([areLocked(), isOn()]).toEqual([[false, false], true]);
      expect(passphrase()).toMatch(key || /./);
    },
  );

  it('T26: killed at a call, of making or of unmaking, it goes on to the same end, with the same key', async () => {
    await start({ seed });
    const before = rest();
    await release(await make());
    const calls = room.switchboard.calls.filter(({ name }) => changing.test(name)).length;
    for (let at = 0; at < calls; at += 3) {
      const life: Durable = { progress: undefined };
      let process = new Process();
      let seen = 0;
      const hush = room.switchboard.onCall(({ name }) => {
        if (changing.test(name) && seen++ === at) void process.kill();
      });
      for (const plan of ['provision', 'release'] as const) {
        await process.walk(plan, machine, life, change).catch(() => {});
        if (!process.stop.signal.aborted) continue;
        process = new Process();
        const verdict = await process.walk(plan, machine, life, change);
        expect(verdict, `killed at change ${at}`).toMatchObject({ kind: 'finished' });
      }
      hush();
      expect([rest(), keyRoom.secrets.size], `killed at change ${at}`).toEqual([before, 0]);
      await process.kill();
    }
  }, 60_000);

  it('T26: whose key is gone says so while it runs, and after a restart; nothing is made anew until the key is back', async () => {
    const keeping = await keep();
    const [[name, secret] = []] = [...keyRoom.secrets];
    keyRoom.secrets.clear();
    expect(await keeping.rest()).toMatchObject({ reasons: ['DiskKeyMissing'], verdict: { kind: 'finished' } });
    await reboot();
    keeping.process = new Process();
    const told = await keeping.once();
    expect(told).toMatchObject({ verdict: { kind: 'failed', reason: 'DISK_KEY_MISSING' } });
    expect(told.reasons.slice(0, 2)).toEqual(['DatasetLocked', 'DatasetLocked']);
    expect([unlocks(), keyRoom.secrets.size]).toEqual([0, 0]);
    keyRoom.secrets.set(String(name), { ...secret!, metadata: { name: String(name) } });
    expect(await keeping.rest()).toMatchObject(well);
    expect(isOn()).toBe(true);
  });

  it('T26: whose key is another one says what TrueNAS says, and stays locked', async () => {
    const keeping = await keep();
    const right = keyRoom.secrets.get(secretName)!;
    const wrong = Buffer.from('not that one').toString('base64');
    keyRoom.secrets.set(secretName, { ...right, data: { [passphraseKey]: wrong } });
    await reboot();
    const { verdict } = await keeping.once();
    const message = expect.stringMatching(/with our key: Invalid Key\./);
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'TRUENAS_DATASET_LOCKED', message });
    expect([areLocked(), isOn()]).toEqual([[true, true], false]);
    keyRoom.secrets.set(secretName, right);
    expect(await keeping.rest()).toMatchObject(well);
  });

  it.each([
    ['fails', { kind: 'error' }],
    ['loses its answer', { kind: 'lose-reply' }],
    ['loses its connection', { kind: 'drop' }],
  ] as const)('T26, G18: whose unlocking %s is unlocked all the same', async (_, fault) => {
    const keeping = await keep();
    await reboot();
    room.switchboard.fail('truenas', /^pool\.dataset\.unlock$/, fault, 1);
    expect(await keeping.rest()).toMatchObject(well);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
  });

  it.each([0, 1])('T26, G18: whose process ends at unlocking number %d is unlocked by the next', async (at) => {
    const keeping = await keep();
    await reboot();
    const dying = keeping.process;
    let seen = 0;
    const hush = room.switchboard.onCall(({ name }) => {
      if (name === 'pool.dataset.unlock' && seen++ === at) void dying.kill();
    });
    await keeping.rest().catch(() => {});
    hush();
    expect(dying.stop.signal.aborted).toBe(true);
    keeping.process = new Process();
    expect(await keeping.rest()).toMatchObject(well);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
  });

  it('T26, T42: that is gone and locked is unlocked by itself, and made anew around its disks when that is agreed', async () => {
    const keeping = await keep();
    await reboot();
    await room.room.loseVm(String(vmOf(machine)?.row['name']));
    const told = await keeping.rest();
    expect(told).toMatchObject({ reasons: ['VmGone'], words: expect.stringMatching(/is still there/) });
    expect(areLocked()).toEqual([false, false]);
    keeping.wish({ mend: 'VmGone' });
    expect(await keeping.rest()).toMatchObject(well);
    expect(isOn()).toBe(true);
  });

  it('S5: below a dataset that somebody encrypted has its own key all the same, and waits for theirs', async () => {
    await start({ seed });
    const theirs = { passphrase: 'correct horse' };
    const options = { encryption: true, inherit_encryption: false, encryption_options: theirs };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const keeping = new Keeping(await member(change), {}, change);
    await reboot();
    const { verdict } = await keeping.once();
    expect(String('error' in verdict && verdict.error)).toMatch(/locked parents tank\/talos/);
    await (await room.login()).job('pool.dataset.unlock', 'tank/talos', {
      datasets: [{ name: 'tank/talos', ...theirs }],
    });
    keeping.process = new Process();
    expect(await keeping.rest()).toMatchObject(well);
    expect(isOn()).toBe(true);
  });

  it('T26, G18: whose system is restarted before it has joined, or before its seed is emptied, is unlocked and started again', async () => {
    await start({ seed });
    const durable = await make();
    await reboot();
    const [[name, secret] = []] = [...keyRoom.secrets];
    keyRoom.secrets.clear();
    const recover = () =>
      truenas.mending?.recover(new Process().context(machine, durable.progress?.facts ?? {}, change));
    expect(await recover()).toMatchObject({ kind: 'wait', reason: 'DISK_KEY_MISSING' });
    keyRoom.secrets.set(String(name), secret!);
    expect(await recover()).toMatchObject({ kind: 'back', to: 'powered-on' });
    expect([areLocked(), isOn()]).toEqual([[false, false], false]);
    await reboot();
    expect(await new Process().settle(machine, durable)).toMatchObject({ kind: 'finished' });
    expect(areLocked()).toEqual([false, false]);
  });

  it('T26: finds a dataset of its own that is not encrypted, and puts nothing into it', async () => {
    await start({ seed });
    const open: Durable = { progress: undefined };
    await make(open, { sizes: [{ ...small, disks }] });
    // Its status was lost, and its size has changed meanwhile.
    const verdict = await new Process().walk('provision', machine, { progress: undefined }, change);
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'NotEncrypted' });
    expect(keyRoom.secrets.size).toBe(0);
    expect(await new Process().walk('release', machine, open, change)).toMatchObject({ kind: 'finished' });
  });

  it('T26: that is left of one that was deleted by force is taken up as encrypted, whatever its size says by then', async () => {
    await start({ seed });
    await make();
    const durable = await make({ progress: undefined }, { sizes: [{ ...small, disks }] });
    expect(durable.progress?.facts).toMatchObject({ encrypted: true });
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([roots(), keyRoom.secrets.size]).toEqual([[], 0]);
  });

  it('T26: keeps its key as long as a dataset is left that has lost our mark', async () => {
    await start({ seed });
    const durable = await make();
    const id = String(durable.progress?.facts['dataset']);
    const found = room.room.nas.datasets.get(id);
    found?.userProperties.clear();
    found?.properties.delete('comments');
    await release(durable);
    expect([room.room.nas.datasets.has(id), keyRoom.secrets.size]).toEqual([true, 1]);
  });

  it('T26: that was made before its size said so stays as it is, and a preview says what the next one would be', async () => {
    await start({ seed });
    const durable = await make({ progress: undefined }, { sizes: [{ ...small, disks }] });
    join(durable);
    const keeping = new Keeping(durable, {}, change);
    await reboot();
    expect(await keeping.rest()).toMatchObject(well);
    expect([roots(), keyRoom.secrets.size]).toEqual([[], 0]);
    const foreseen = async (name: string, facts: Facts) => {
      const context = new Process().context(name, facts, change);
      const lines = await truenas.preview({ ...context, host: undefined, servers: () => new Set<number>() });
      return lines.find(({ what }) => what.startsWith('dataset '))?.what;
    };
    expect(await foreseen(machine, keeping.durable.progress?.facts ?? {})).not.toMatch(/encrypted/);
    expect(await foreseen('shop-cp-1', {})).toMatch(/^dataset tank\/talos\/shop_cp_1_\w+, encrypted, on /);
  });
});
