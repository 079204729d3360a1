import { describe, expect, it } from 'vitest';
import { diskKeySecretName } from '../../../src/api/names.ts';
import { diskPassphraseKey } from '../../../src/controllers/shared/secrets/disk-keys.ts';
import type { Facts } from '../../../src/engine/step.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { diskKeyStore } from '../../support/harness/simulated-provider-process.ts';
import { markJoined, provisionUpTo, testedReleases } from './baseline-run.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  changingCallPattern,
  dumpNas,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const seed = { pools: [{ name: 'tank' }, { name: 'fast' }] };
const disks = [{ name: 'data', sizeGiB: 20, pool: 'fast' }];
const small = { name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 };
const change = { sizes: [{ ...small, encrypted: true, disks }] };
const machine = 'shop-cp-0';
const secretName = diskKeySecretName(machine);

const passphrase = (): string =>
  Buffer.from(diskKeyStore.secrets.get(secretName)?.data?.[diskPassphraseKey] ?? '', 'base64').toString();
const isRetained = (id: string): boolean => /^(\/mnt\/)?(tank|fast)\/talos(\/images(\/|$)|$)/.test(id);
/** Everything without the folders and images that stay on purpose. */
const remainingState = () => {
  const all = dumpNas();
  return toJsonText({
    ...all,
    datasets: all.datasets.filter((one) => !isRetained((one as { id: string }).id)),
    files: all.files.filter((one) => !isRetained((one as { path: string }).path)),
  });
};
/** Our datasets, with the encryption of each. */
const encryption = () =>
  [...nasFixture.simulator.nas.datasets.values()]
    .filter(({ id }) => id.includes('/shop_cp_0_'))
    .map((one) => [one.id.replace(/shop_cp_0_\w+/, 'm'), one.encryption && { ...one.encryption, secret: '' }]);
const ownEncryption = (loaded = true) => ({ algorithm: 'AES-256-GCM', format: 'passphrase', loaded, secret: '' });
const roots = () =>
  [...nasFixture.simulator.nas.datasets.values()].filter((one) => one.encryption && one.id.includes('shop_cp_0'));
const areLocked = () => roots().map((one) => !one.encryption?.loaded);
const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const reboot = () => nasFixture.simulator.restart({ hostReboot: true });
const isOn = () => vmOf(machine)?.guest !== undefined;
const unlocks = () => nasFixture.switchboard.calls.filter(({ name }) => name === 'pool.dataset.unlock').length;

async function makeMachine(
  durable: MachineRecord = { progress: undefined },
  desired: object = change,
): Promise<MachineRecord> {
  const process = new TrueNasProviderProcess();
  expect(await process.walk('provision', machine, durable, desired)).toMatchObject({ kind: 'finished' });
  return durable;
}
const release = (durable: MachineRecord) => new TrueNasProviderProcess().walk('release', machine, durable, change);
async function startMember(version = '25.10'): Promise<MemberFixture> {
  await startTrueNasPlatformFixture({ version, seed });
  return new MemberFixture(await provisionMember(change), {}, change);
}
const healthyObservation = { reasons: [], verdict: { kind: 'finished' } };

describe.each(testedReleases)('an encrypted machine on TrueNAS %s', (version) => {
  it('T26, S5, S34, G11: has one passphrase on all its pools, which only TrueNAS receives and no message shows, and is deleted completely', async () => {
    await startTrueNasPlatformFixture({ version, seed });
    const before = remainingState();
    const durable = await makeMachine();
    expect(encryption()).toEqual([
      ['tank/talos/m', ownEncryption()],
      ['tank/talos/m/boot', null],
      ['fast/talos/m', ownEncryption()],
      ['fast/talos/m/disk-data', null],
    ]);
    const key = passphrase();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(roots().map((one) => one.encryption?.secret))).toEqual(new Set([key]));
    const [made] = diskKeyStore.calls.filter((one) => one.startsWith('create'));
    expect(made).toBe(`create ${secretName}`);
    expect(toJsonText([dumpNas(), durable])).not.toContain(key);
    const told = nasFixture.switchboard.calls.filter(({ detail }) => toJsonText(detail ?? '').includes(key));
    expect(told.map(({ name }) => name)).toEqual(['pool.dataset.create', 'pool.dataset.create']);
    expect(toJsonText(await call('pool.dataset.query'))).not.toContain(key);
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([remainingState(), diskKeyStore.secrets.size]).toEqual([before, 0]);
  });

  it('T26, G18: is unlocked automatically after a restart of the system, on all pools before its start', async () => {
    const keeping = await startMember(version);
    await reboot();
    expect([areLocked(), isOn()]).toEqual([[true, true], false]);
    nasFixture.switchboard.calls.length = 0;
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
    const made = nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => /unlock|start$/.test(name));
    expect(made).toEqual(['pool.dataset.unlock', 'pool.dataset.unlock', 'vm.start']);
    expect(toJsonText(await call('core.get_jobs'))).not.toContain(passphrase());
  });

  it('T26: is deleted while it is locked, and its key after it', async () => {
    await startTrueNasPlatformFixture({ version, seed });
    const before = remainingState();
    const durable = await makeMachine();
    markJoined(durable);
    await reboot();
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([remainingState(), diskKeyStore.secrets.size, unlocks()]).toEqual([before, 0, 0]);
  });
});

describe('an encrypted machine', () => {
  it.each(['dataset-created', 'data-disks-created', 'seed-written', 'devices-attached', 'powered-on'])(
    'T26, G18: whose system is restarted while it is in %s has the same result',
    async (step) => {
      await startTrueNasPlatformFixture({ seed });
      const durable = await provisionUpTo(step, machine, change);
      const key = passphrase();
      await reboot();
      expect(await new TrueNasProviderProcess().walk('provision', machine, durable, change)).toMatchObject({
        kind: 'finished',
      });
      expect([areLocked(), isOn()]).toEqual([[false, false], true]);
      expect(passphrase()).toMatch(key || /./);
    },
  );

  it('T26: killed at a call of provisioning or release, it has the same result, with the same key', async () => {
    await startTrueNasPlatformFixture({ seed });
    const before = remainingState();
    await release(await makeMachine());
    const calls = nasFixture.switchboard.calls.filter(({ name }) => changingCallPattern.test(name)).length;
    for (let at = 0; at < calls; at += 3) {
      const life: MachineRecord = { progress: undefined };
      let process = new TrueNasProviderProcess();
      let seen = 0;
      const hush = nasFixture.switchboard.onCall(({ name }) => {
        if (changingCallPattern.test(name) && seen++ === at) void process.kill();
      });
      for (const plan of ['provision', 'release'] as const) {
        await process.walk(plan, machine, life, change).catch(() => {});
        if (!process.stop.signal.aborted) continue;
        process = new TrueNasProviderProcess();
        const verdict = await process.walk(plan, machine, life, change);
        expect(verdict, `killed at change ${at}`).toMatchObject({ kind: 'finished' });
      }
      hush();
      expect([remainingState(), diskKeyStore.secrets.size], `killed at change ${at}`).toEqual([before, 0]);
      await process.kill();
    }
  }, 60_000);

  it('T26: whose key is gone reports it while it runs, and after a restart; nothing is created again until the key is back', async () => {
    const keeping = await startMember();
    const [[name, secret] = []] = [...diskKeyStore.secrets];
    diskKeyStore.secrets.clear();
    expect(await keeping.rest()).toMatchObject({ reasons: ['DiskKeyMissing'], verdict: { kind: 'finished' } });
    await reboot();
    keeping.process = new TrueNasProviderProcess();
    const told = await keeping.once();
    expect(told).toMatchObject({ verdict: { kind: 'failed', reason: 'DISK_KEY_MISSING' } });
    expect(told.reasons.slice(0, 2)).toEqual(['DatasetLocked', 'DatasetLocked']);
    expect([unlocks(), diskKeyStore.secrets.size]).toEqual([0, 0]);
    diskKeyStore.secrets.set(String(name), { ...secret!, metadata: { name: String(name) } });
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect(isOn()).toBe(true);
  });

  it('T26: whose key is another one reports the error of TrueNAS, and stays locked', async () => {
    const keeping = await startMember();
    const right = diskKeyStore.secrets.get(secretName)!;
    const wrong = Buffer.from('not that one').toString('base64');
    diskKeyStore.secrets.set(secretName, { ...right, data: { [diskPassphraseKey]: wrong } });
    await reboot();
    const { verdict } = await keeping.once();
    const message = expect.stringMatching(/with the key of the machine failed: Invalid Key\./);
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'TRUENAS_DATASET_LOCKED', message });
    expect([areLocked(), isOn()]).toEqual([[true, true], false]);
    diskKeyStore.secrets.set(secretName, right);
    expect(await keeping.rest()).toMatchObject(healthyObservation);
  });

  it.each([
    ['fails', { kind: 'error' }],
    ['loses its reply', { kind: 'lose-reply' }],
    ['loses its connection', { kind: 'drop' }],
  ] as const)('T26, G18: whose unlocking %s is unlocked all the same', async (_, fault) => {
    const keeping = await startMember();
    await reboot();
    nasFixture.switchboard.fail('truenas', /^pool\.dataset\.unlock$/, fault, 1);
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
  });

  it.each([0, 1])('T26, G18: whose process ends at unlocking number %d is unlocked by the next process', async (at) => {
    const keeping = await startMember();
    await reboot();
    const dying = keeping.process;
    let seen = 0;
    const hush = nasFixture.switchboard.onCall(({ name }) => {
      if (name === 'pool.dataset.unlock' && seen++ === at) void dying.kill();
    });
    await keeping.rest().catch(() => {});
    hush();
    expect(dying.stop.signal.aborted).toBe(true);
    keeping.process = new TrueNasProviderProcess();
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect([areLocked(), isOn()]).toEqual([[false, false], true]);
  });

  it('T26, T42: that is gone and locked is unlocked automatically, and created again around its disks after approval', async () => {
    const keeping = await startMember();
    await reboot();
    await nasFixture.simulator.loseVm(String(vmOf(machine)?.row['name']));
    const told = await keeping.rest();
    expect(told).toMatchObject({ reasons: ['VmGone'], words: expect.stringMatching(/still exists/) });
    expect(areLocked()).toEqual([false, false]);
    keeping.wish({ approve: 'VmGone' });
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect(isOn()).toBe(true);
  });

  it('S5: below a foreign encrypted dataset has its own key all the same, and waits for the foreign key', async () => {
    await startTrueNasPlatformFixture({ seed });
    const theirs = { passphrase: 'correct horse' };
    const options = { encryption: true, inherit_encryption: false, encryption_options: theirs };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const keeping = new MemberFixture(await provisionMember(change), {}, change);
    await reboot();
    const { verdict } = await keeping.once();
    expect(String('error' in verdict && verdict.error)).toMatch(/locked parents tank\/talos/);
    await (await nasFixture.login()).job('pool.dataset.unlock', 'tank/talos', {
      datasets: [{ name: 'tank/talos', ...theirs }],
    });
    keeping.process = new TrueNasProviderProcess();
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect(isOn()).toBe(true);
  });

  it('T26, G18: whose system is restarted before it has joined, or before its seed is emptied, is unlocked and started again', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine();
    await reboot();
    const [[name, secret] = []] = [...diskKeyStore.secrets];
    diskKeyStore.secrets.clear();
    const recover = () =>
      truenas.repair?.recover?.(new TrueNasProviderProcess().context(machine, durable.progress?.facts ?? {}, change));
    expect(await recover()).toMatchObject({ kind: 'wait', reason: 'DISK_KEY_MISSING' });
    diskKeyStore.secrets.set(String(name), secret!);
    expect(await recover()).toMatchObject({ kind: 'back', to: 'powered-on' });
    expect([areLocked(), isOn()]).toEqual([[false, false], false]);
    await reboot();
    expect(await new TrueNasProviderProcess().settle(machine, durable)).toMatchObject({ kind: 'finished' });
    expect(areLocked()).toEqual([false, false]);
  });

  it('T26: detects a dataset of its own that is not encrypted, and puts nothing into it', async () => {
    await startTrueNasPlatformFixture({ seed });
    const open: MachineRecord = { progress: undefined };
    await makeMachine(open, { sizes: [{ ...small, disks }] });
    // Its status was lost, and its size has changed meanwhile.
    const verdict = await new TrueNasProviderProcess().walk('provision', machine, { progress: undefined }, change);
    expect(verdict).toMatchObject({ kind: 'failed', reason: 'NotEncrypted' });
    expect(diskKeyStore.secrets.size).toBe(0);
    expect(await new TrueNasProviderProcess().walk('release', machine, open, change)).toMatchObject({
      kind: 'finished',
    });
  });

  it('T26: whose Machine was deleted by force is adopted as encrypted, whatever its size is by then', async () => {
    await startTrueNasPlatformFixture({ seed });
    await makeMachine();
    const durable = await makeMachine({ progress: undefined }, { sizes: [{ ...small, disks }] });
    expect(durable.progress?.facts).toMatchObject({ encrypted: true });
    expect(await release(durable)).toMatchObject({ kind: 'finished' });
    expect([roots(), diskKeyStore.secrets.size]).toEqual([[], 0]);
  });

  it('T26: keeps its key as long as a dataset remains that has lost our ownership mark', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine();
    const id = String(durable.progress?.facts['dataset']);
    const found = nasFixture.simulator.nas.datasets.get(id);
    found?.userProperties.clear();
    found?.properties.delete('comments');
    await release(durable);
    expect([nasFixture.simulator.nas.datasets.has(id), diskKeyStore.secrets.size]).toEqual([true, 1]);
  });

  it('T26: that was created before the encryption of its size stays unchanged, and a preview describes the next one', async () => {
    await startTrueNasPlatformFixture({ seed });
    const durable = await makeMachine({ progress: undefined }, { sizes: [{ ...small, disks }] });
    markJoined(durable);
    const keeping = new MemberFixture(durable, {}, change);
    await reboot();
    expect(await keeping.rest()).toMatchObject(healthyObservation);
    expect([roots(), diskKeyStore.secrets.size]).toEqual([[], 0]);
    const foreseen = async (name: string, facts: Facts) => {
      const context = new TrueNasProviderProcess().context(name, facts, change);
      const lines = await truenas.preview.machine({
        ...context,
        host: undefined,
        hostedServers: () => new Set<string>(),
      });
      return lines.find(({ subject }) => subject.startsWith('dataset '))?.subject;
    };
    expect(await foreseen(machine, keeping.durable.progress?.facts ?? {})).not.toMatch(/encrypted/);
    expect(await foreseen('shop-cp-1', {})).toMatch(/^dataset tank\/talos\/shop_cp_1_\w+, encrypted, on /);
  });
});
