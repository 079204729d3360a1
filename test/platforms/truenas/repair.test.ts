import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';
import { testedReleases } from './baseline-run.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  changingCallPattern,
  dumpNas,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const call = async (method: string, ...params: unknown[]) => (await nasFixture.login()).call(method, ...params);
const removeDevice = (dtype: string) =>
  nasFixture.simulator.loseDevice(nameOf(), (device) => device['dtype'] === dtype);
const nameOf = () => String(vmOf('shop-cp-0')!.row['name']);
const off = () => nasFixture.simulator.powerOff(nameOf());
const stateOf = () => (vmOf('shop-cp-0')?.guest ? (vmOf('shop-cp-0')?.guest?.suspended ? 'suspended' : 'on') : 'off');
const moveCard = (to: string) => {
  for (const { attributes } of nasFixture.simulator.nas.devices.values())
    if (attributes['dtype'] === 'NIC') Object.assign(attributes, { nic_attach: to });
};
const cardsAt = () =>
  [...nasFixture.simulator.nas.devices.values()].flatMap(({ attributes }) => attributes['nic_attach'] ?? []).join();
/** Mutating calls since the last call of this function. */
function changes(): string[] {
  const all = nasFixture.switchboard.calls.splice(0).map(({ name }) => name);
  return all.filter((name) => changingCallPattern.test(name));
}
const healthyObservation = { reasons: [], seconds: 45, verdict: { kind: 'finished', progress: { plan: 'provision' } } };

async function startMember(
  desiredSpecs: { approve?: string; maintenance?: string } = {},
  version = '25.10',
): Promise<MemberFixture> {
  await startTrueNasPlatformFixture({ version });
  const kept = new MemberFixture(await provisionMember(), desiredSpecs);
  nasFixture.switchboard.calls.length = 0;
  return kept;
}

describe.each(testedReleases)('a member of a cluster on TrueNAS %s', (version) => {
  it('T43: that was switched off by hand is started again, and nothing else is done', async () => {
    const kept = await startMember({}, version);
    const before = toJsonText(stateSummary());
    await off();
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([stateOf(), changes(), toJsonText(stateSummary())]).toEqual(['on', ['vm.start'], before]);
  });

  it('T42: that has lost its disk or card keeps running and requests approval; after approval it is stopped, repaired and started', async () => {
    const kept = await startMember({}, version);
    const before = toJsonText(stateSummary());
    removeDevice('NIC');
    removeDevice('DISK');
    const told = await kept.rest();
    expect(told).toMatchObject({ reasons: ['DeviceMissing', 'DeviceMissing'], seconds: 45 });
    expect(told.words).toContain(
      `With the annotation ${annotations.approve}: DeviceMissing on the Machine, it is shut down`,
    );
    expect([stateOf(), changes()]).toEqual(['on', []]);
    kept.wish({ approve: 'DeviceMissing' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    const made = changes();
    expect(made[0]).toBe('vm.stop');
    expect(made.slice(-3)).toEqual(['vm.device.create', 'vm.device.create', 'vm.start']);
    expect([stateOf(), toJsonText(stateSummary()), kept.events]).toEqual(['on', before, ['Repaired']]);
    expect(kept.machine.metadata.annotations).toEqual({});
    expect(nasFixture.runner.started.at(-1)).toMatchObject({ disks: [{}], nics: [{ mac: kept.fact['mac'] }] });
  });

  it('T42: that is gone while its disk exists waits for approval, and is created again around its disk then', async () => {
    const kept = await startMember({}, version);
    await nasFixture.simulator.loseVm(nameOf());
    expect(await kept.rest()).toMatchObject({ reasons: ['VmGone'], words: expect.stringMatching(/still exists/) });
    expect(changes()).toEqual([]);
    kept.wish({ approve: 'VmGone' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(changes()).toEqual(['vm.create', 'vm.device.create', 'vm.device.create', 'vm.start']);
    const disk = { path: expect.stringMatching(/shop_cp_0_\w+\/boot/) };
    expect(nasFixture.runner.started.at(-1)).toMatchObject({
      disks: [disk],
      cdroms: [],
      nics: [{ mac: kept.fact['mac'] }],
    });
  });

  it('S48: that cannot start since the files of its discs are gone is started without them', async () => {
    const kept = await startMember({}, version);
    await off();
    for (const fact of ['seed', 'image']) await rm(realPath(nasFixture.simulator.nas, String(kept.fact[fact])));
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(changes()).toEqual(['vm.device.delete', 'vm.device.delete', 'vm.start']);
    expect(nasFixture.runner.started.at(-1)).toMatchObject({ disks: [{}], cdroms: [] });
  });
});

describe('a member of a cluster', () => {
  it('T43: that is in maintenance stays off, and is started after it', async () => {
    const kept = await startMember({ maintenance: 'true' });
    await off();
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'PoweredOff'] });
    expect([stateOf(), changes()]).toEqual(['off', []]);
    kept.wish({});
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(stateOf()).toBe('on');
  });

  it('T43, T42: that is in maintenance is repaired after approval, and stays off', async () => {
    const kept = await startMember({ maintenance: 'true', approve: 'DeviceMissing' });
    await off();
    removeDevice('NIC');
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'PoweredOff'] });
    expect([stateOf(), changes(), kept.events]).toEqual(['off', ['vm.device.create'], ['Repaired']]);
  });

  it('T42: that was switched off with a device missing gets it back before it starts', async () => {
    const kept = await startMember();
    await off();
    removeDevice('DISK');
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(changes()).toEqual(['vm.device.create', 'vm.start']);
  });

  it('T42: whose card was moved starts unchanged, and its card is restored after approval', async () => {
    const kept = await startMember();
    await off();
    moveCard('br9');
    nasFixture.simulator.nas.links.set('br9', { ...nasFixture.simulator.nas.links.get('br0')!, name: 'br9' });
    expect(await kept.rest()).toMatchObject({ reasons: ['CardMoved'] });
    expect([stateOf(), cardsAt(), changes()]).toEqual(['on', 'br9', ['vm.start']]);
    kept.wish({ approve: ' CardMoved ,' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([stateOf(), cardsAt()]).toEqual(['on', 'br0']);
  });

  it('T42: that was suspended stays so until approval of its resumption', async () => {
    const kept = await startMember();
    await call('vm.suspend', vmOf('shop-cp-0')!.id);
    changes();
    expect(await kept.rest()).toMatchObject({ reasons: ['Suspended'] });
    expect([stateOf(), changes()]).toEqual(['suspended', []]);
    kept.wish({ approve: 'Suspended' });
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect([stateOf(), changes()]).toEqual(['on', ['vm.resume']]);
  });

  it('S53: that an update to 26 has set to pause for snapshots is reset, and foreign ones are not touched', async () => {
    const kept = await startMember();
    await call('vm.create', { name: 'theirs', memory: 1024, autostart: false });
    await nasFixture.simulator.update('26');
    nasFixture.switchboard.calls.length = 0;
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(changes()).toEqual(['vm.update']);
    const settings = [...nasFixture.simulator.nas.vms.values()].map(({ row }) => [
      row['name'],
      row['suspend_on_snapshot'],
    ]);
    expect(settings).toEqual([
      [nameOf(), false],
      ['theirs', true],
    ]);
  });

  it('S60: is not started while its system shuts down', async () => {
    const kept = await startMember();
    nasFixture.simulator.nas.state = 'SHUTTING_DOWN';
    await off();
    expect((await kept.once()).verdict).toMatchObject({
      kind: 'waiting',
      message: expect.stringMatching(/SHUTTING_DOWN/),
    });
    expect([stateOf(), changes()]).toEqual(['off', []]);
    nasFixture.simulator.nas.state = 'READY';
    expect(await kept.rest()).toMatchObject(healthyObservation);
  });

  it('T43: that lacks memory to start reports it, and starts when there is some', async () => {
    const kept = await startMember();
    await off();
    await call('vm.create', { name: 'hungry', memory: 61_440, autostart: false });
    await call('vm.start', 2, { overcommit: true });
    changes();
    const short = await kept.once();
    expect(short.verdict).toMatchObject({ kind: 'waiting', reason: 'InsufficientMemory' });
    await call('vm.poweroff', 2);
    expect(await kept.rest()).toMatchObject(healthyObservation);
  });

  it('T42: that is off since its dataset was locked starts when that is unlocked', async () => {
    await startTrueNasPlatformFixture();
    const passphrase = 'correct horse';
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase } };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const kept = new MemberFixture(await provisionMember());
    await nasFixture.simulator.restart({ hostReboot: true });
    changes();
    expect(await kept.rest()).toMatchObject({ reasons: ['DatasetLocked', 'PoweredOff'] });
    expect(changes()).toEqual([]);
    await (await nasFixture.login()).job('pool.dataset.unlock', 'tank/talos', {
      datasets: [{ name: 'tank/talos', passphrase }],
    });
    kept.process = new TrueNasProviderProcess();
    expect(await kept.rest()).toMatchObject(healthyObservation);
    expect(stateOf()).toBe('on');
  });

  it.each<[string, string, () => Promise<unknown> | unknown]>([
    [
      'its disk is gone',
      'DiskGone',
      async () => {
        await off();
        await call(
          'pool.dataset.delete',
          `${[...nasFixture.simulator.nas.datasets.keys()].find((id) => id.endsWith('/boot'))}`,
        );
      },
    ],
    [
      'its pool is faulted',
      'PoolFaulted',
      async () => [await off(), await nasFixture.simulator.setPoolStatus('tank', 'FAULTED')],
    ],
    [
      'a foreign machine has its name',
      'VmGone',
      async () => {
        const name = nameOf();
        await nasFixture.simulator.loseVm(name);
        await call('vm.create', { name, memory: 1024, autostart: false });
      },
    ],
    [
      'it exists twice',
      'VmTwice',
      async () => {
        await off();
        await call('vm.create', { name: 'copy', memory: 1024, uuid: vmOf('shop-cp-0')?.row['uuid'], autostart: false });
      },
    ],
    [
      'another device would boot first',
      'BootOrder',
      async () => {
        await off();
        for (const device of nasFixture.simulator.nas.devices.values())
          if (device.attributes['dtype'] === 'CDROM') Object.assign(device, { order: 1 });
      },
    ],
  ])('T42, T46: is not touched where %s, despite any approval', async (_, reason, breakIt) => {
    const kept = await startMember({ approve: 'PoweredOff,DeviceMissing,VmGone,VmTwice,DiskGone,BootOrder' });
    await breakIt();
    changes();
    const before = toJsonText(dumpNas());
    const told = await kept.rest();
    expect(told.reasons[0]).toBe(reason);
    expect([changes(), toJsonText(dumpNas())]).toEqual([[], before]);
    expect(kept.events).toEqual(['NothingToMend']);
  });
});
