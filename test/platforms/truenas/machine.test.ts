import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';

import {
  addressClaims,
  changingCallPattern,
  checkPlatformConfig,
  dumpNas,
  dumpWithoutImageCache,
  imageDownloadCount,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

describe('a machine on TrueNAS', () => {
  it('T17, T18, T22, T61, G3, G5, G13, S44, S53, S55: is created completely, runs, and is deleted completely but for the cached image', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpNas());
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    const vm = vmOf('shop-cp-0');
    expect(vm?.row).toMatchObject({
      cpu_mode: 'HOST-PASSTHROUGH',
      vcpus: 1,
      cores: 2,
      memory: 4096,
      time: 'UTC',
      autostart: true,
      suspend_on_snapshot: false,
      ensure_display_device: false,
      bootloader: 'UEFI',
    });
    // In full: TrueNAS reserves a little more than the size for its own records.
    const disk = nasFixture.simulator.nas.datasets.get(`${durable.progress?.facts['dataset']}/boot`);
    expect(Number(disk?.properties.get('refreservation'))).toBeGreaterThan(40 * 2 ** 30);
    const [machine] = nasFixture.runner.started;
    expect(machine).toMatchObject({ vcpus: 2, memoryMiB: 4096, firmware: 'uefi', cpuModel: 'host' });
    expect(machine?.disks.map(({ sizeBytes, bus }) => [sizeBytes, bus])).toEqual([[40 * 2 ** 30, 'virtio']]);
    expect(machine?.cdroms.map(({ path }) => path.split('/').at(-1))).toEqual([
      'nocloud-amd64.iso',
      expect.stringMatching(/^seed-/),
    ]);
    expect(Math.max(...machine!.disks.map(({ order }) => order))).toBeLessThan(
      Math.min(...machine!.cdroms.map(({ order }) => order)),
    );
    expect(machine?.nics).toMatchObject([{ mac: durable.progress?.facts['mac'], bridge: 'br0' }]);
    expect(await truenas.observe(process.context('shop-cp-0', durable.progress!.facts))).toEqual({
      ...{ exists: true, runs: true, run: expect.any(String), drift: [], fingerprint: expect.any(String) },
    });

    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(toJsonText(dumpWithoutImageCache())).toBe(before);
    expect(stateSummary().files).toEqual([
      expect.stringMatching(/^\/mnt\/tank\/talos\/images\/.*\/nocloud-amd64\.iso$/),
    ]);
    expect(addressClaims.size).toBe(0);
    expect(await truenas.observe(process.context('shop-cp-0', {}))).toMatchObject({ exists: false });
  });

  it('T45, G4, S2: makes these calls and no others: nothing is detached, no machine is changed but by its devices, users of an object are deleted before it', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    await process.walk('provision', 'shop-cp-0', durable);
    durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, joined: true } };
    await process.walk('release', 'shop-cp-0', durable);
    const calls = nasFixture.switchboard.calls.filter(
      (call) => call.simulator === 'truenas' && changingCallPattern.test(call.name),
    );
    const { vmId, dataset } = durable.progress.facts;
    const deleted = calls.flatMap(({ name, detail }) => (name.endsWith('.delete') ? [(detail as unknown[])[0]] : []));
    expect(deleted).toEqual([vmId, dataset]);
    expect([...new Set(calls.map(({ name }) => name))].sort()).toEqual([
      'POST /_upload',
      'pool.dataset.create',
      'pool.dataset.delete',
      'pool.dataset.update',
      'vm.create',
      'vm.delete',
      'vm.device.create',
      'vm.start',
      'vm.stop',
    ]);
  });

  it('keeps secrets out of its facts', async () => {
    await startTrueNasPlatformFixture();
    const durable: MachineRecord = { progress: undefined };
    await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable);
    const facts = toJsonText(durable.progress?.facts);
    expect(facts).not.toContain(nasFixture.simulator.line.credentials['apiKey']);
    expect(Object.keys(durable.progress!.facts).sort()).toEqual(
      [
        'address',
        'dataset',
        'gateway',
        'image',
        'imageBytes',
        'imageChanged',
        'imageModified',
        'mac',
        'prefix',
        'providerId',
        'roots',
        'seed',
        'seedEmptied',
        'started',
        'system',
        'uuid',
        'vm',
        'vmId',
      ].sort(),
    );
  });

  it('T30, S37: shares one copy of the boot image with machines created at the same time', async () => {
    await startTrueNasPlatformFixture();
    const process = new TrueNasProviderProcess();
    const machines = ['a-0', 'a-1', 'a-2', 'a-3'];
    const verdicts = await Promise.all(
      machines.map((name) => process.walk('provision', name, { progress: undefined })),
    );
    expect(verdicts.map(({ kind }) => kind)).toEqual(Array(4).fill('finished'));
    expect(imageDownloadCount()).toBe(1);
    expect(nasFixture.simulator.nas.vms.size).toBe(4);
    expect(new Set(addressClaims.values()).size).toBe(4);
  });

  it('T44, S32, S51: is shut down by its power button when it is a member, and powered off when it does not react', async () => {
    await startTrueNasPlatformFixture();
    for (const [minding, stop, switchedOff] of [
      [true, 'works', 0],
      // TrueNAS powers it off itself, as requested.
      [false, 'works', 0],
      [false, 'hangs', 1],
    ] as const) {
      nasFixture.runner.minding = minding;
      const letGo = stop === 'hangs' ? nasFixture.simulator.hangNextJob('vm.stop') : () => {};
      const durable: MachineRecord = { progress: undefined };
      const process = new TrueNasProviderProcess();
      await process.walk('provision', 'shop-cp-0', durable);
      durable.progress = { ...durable.progress!, facts: { ...durable.progress!.facts, joined: true } };
      nasFixture.switchboard.calls.length = 0;
      expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
      const names = nasFixture.switchboard.calls.map(({ name }) => name);
      expect(names.filter((name) => name === 'vm.stop')).toHaveLength(1);
      expect(names.filter((name) => name === 'vm.poweroff')).toHaveLength(switchedOff);
      letGo();
    }
  });

  it.each(['25.04.2', '25.10', '26'])('T65, G7: runs through its whole lifecycle on TrueNAS %s', async (version) => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess();
    expect(await checkPlatformConfig(process)).toEqual([]);
    const durable: MachineRecord = { progress: undefined };
    expect(await process.walk('provision', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(await process.walk('release', 'shop-cp-0', durable)).toMatchObject({ kind: 'finished' });
    expect(stateSummary()).toMatchObject({
      vms: [],
      devices: 0,
      datasets: ['tank', 'tank/talos', 'tank/talos/images', expect.stringMatching(/images\//)],
    });
  });
});
