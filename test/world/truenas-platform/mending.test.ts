import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { realPath } from '../truenas/storage.ts';
import { Keeping, member } from './keeping.ts';
import { versions } from './rehearsal.ts';
import { changing, dump, Process, room, shape, start, text, useScene, vmOf } from './scene.ts';

useScene();

const call = async (method: string, ...params: unknown[]) => (await room.login()).call(method, ...params);
const lose = (dtype: string) => room.room.loseDevice(nameOf(), (device) => device['dtype'] === dtype);
const nameOf = () => String(vmOf('shop-cp-0')!.row['name']);
const off = () => room.room.powerOff(nameOf());
const stateOf = () => (vmOf('shop-cp-0')?.guest ? (vmOf('shop-cp-0')?.guest?.suspended ? 'suspended' : 'on') : 'off');
const moveCard = (to: string) => {
  for (const { attributes } of room.room.nas.devices.values())
    if (attributes['dtype'] === 'NIC') Object.assign(attributes, { nic_attach: to });
};
const cardsAt = () =>
  [...room.room.nas.devices.values()].flatMap(({ attributes }) => attributes['nic_attach'] ?? []).join();
/** Calls that change something, since the last time. */
function changes(): string[] {
  const all = room.switchboard.calls.splice(0).map(({ name }) => name);
  return all.filter((name) => changing.test(name));
}
const well = { reasons: [], seconds: 45, verdict: { kind: 'finished', progress: { plan: 'provision' } } };

async function keep(wishes: { mend?: string; maintenance?: string } = {}, version = '25.10'): Promise<Keeping> {
  await start({ version });
  const kept = new Keeping(await member(), wishes);
  room.switchboard.calls.length = 0;
  return kept;
}

describe.each(versions)('a member of a cluster on TrueNAS %s', (version) => {
  it('T43: that was switched off by hand is started again, and nothing else is done', async () => {
    const kept = await keep({}, version);
    const before = text(shape());
    await off();
    expect(await kept.rest()).toMatchObject(well);
    expect([stateOf(), changes(), text(shape())]).toEqual(['on', ['vm.start'], before]);
  });

  it('T42: that has lost its disk or card runs on and says who decides; agreed to, it is stopped, mended and started', async () => {
    const kept = await keep({}, version);
    const before = text(shape());
    lose('NIC');
    lose('DISK');
    const told = await kept.rest();
    expect(told).toMatchObject({ reasons: ['DeviceMissing', 'DeviceMissing'], seconds: 45 });
    expect(told.words).toContain(
      `With the annotation ${annotations.mend}: DeviceMissing on the Machine it is shut down`,
    );
    expect([stateOf(), changes()]).toEqual(['on', []]);
    kept.wish({ mend: 'DeviceMissing' });
    expect(await kept.rest()).toMatchObject(well);
    const made = changes();
    expect(made[0]).toBe('vm.stop');
    expect(made.slice(-3)).toEqual(['vm.device.create', 'vm.device.create', 'vm.start']);
    expect([stateOf(), text(shape()), kept.events]).toEqual(['on', before, ['Mended']]);
    expect(kept.machine.metadata.annotations).toEqual({});
    expect(room.runner.started.at(-1)).toMatchObject({ disks: [{}], nics: [{ mac: kept.fact['mac'] }] });
  });

  it('T42: that is gone while its disk is there waits for a decision, and is made anew around its disk then', async () => {
    const kept = await keep({}, version);
    await room.room.loseVm(nameOf());
    expect(await kept.rest()).toMatchObject({ reasons: ['VmGone'], words: expect.stringMatching(/is still there/) });
    expect(changes()).toEqual([]);
    kept.wish({ mend: 'VmGone' });
    expect(await kept.rest()).toMatchObject(well);
    expect(changes()).toEqual(['vm.create', 'vm.device.create', 'vm.device.create', 'vm.start']);
    const disk = { path: expect.stringMatching(/shop_cp_0_\w+\/boot/) };
    expect(room.runner.started.at(-1)).toMatchObject({ disks: [disk], cdroms: [], nics: [{ mac: kept.fact['mac'] }] });
  });

  it('S48: that would not start since the files of its discs are gone is started without them', async () => {
    const kept = await keep({}, version);
    await off();
    for (const fact of ['seed', 'image']) await rm(realPath(room.room.nas, String(kept.fact[fact])));
    expect(await kept.rest()).toMatchObject(well);
    expect(changes()).toEqual(['vm.device.delete', 'vm.device.delete', 'vm.start']);
    expect(room.runner.started.at(-1)).toMatchObject({ disks: [{}], cdroms: [] });
  });
});

describe('a member of a cluster', () => {
  it('T43: that is in maintenance is left off, and started once it is not', async () => {
    const kept = await keep({ maintenance: 'true' });
    await off();
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'PoweredOff'] });
    expect([stateOf(), changes()]).toEqual(['off', []]);
    kept.wish({});
    expect(await kept.rest()).toMatchObject(well);
    expect(stateOf()).toBe('on');
  });

  it('T43, T42: that is in maintenance is mended where that was agreed, and left off', async () => {
    const kept = await keep({ maintenance: 'true', mend: 'DeviceMissing' });
    await off();
    lose('NIC');
    expect(await kept.rest()).toMatchObject({ reasons: ['InMaintenance', 'PoweredOff'] });
    expect([stateOf(), changes(), kept.events]).toEqual(['off', ['vm.device.create'], ['Mended']]);
  });

  it('T42: that was switched off with a device missing gets it back before it starts', async () => {
    const kept = await keep();
    await off();
    lose('DISK');
    expect(await kept.rest()).toMatchObject(well);
    expect(changes()).toEqual(['vm.device.create', 'vm.start']);
  });

  it('T42: whose card was moved starts where it is, and is put back when that is agreed', async () => {
    const kept = await keep();
    await off();
    moveCard('br9');
    room.room.nas.links.set('br9', { ...room.room.nas.links.get('br0')!, name: 'br9' });
    expect(await kept.rest()).toMatchObject({ reasons: ['CardMoved'] });
    expect([stateOf(), cardsAt(), changes()]).toEqual(['on', 'br9', ['vm.start']]);
    kept.wish({ mend: ' CardMoved ,' });
    expect(await kept.rest()).toMatchObject(well);
    expect([stateOf(), cardsAt()]).toEqual(['on', 'br0']);
  });

  it('T42: that was suspended stays so until somebody agrees to its being resumed', async () => {
    const kept = await keep();
    await call('vm.suspend', vmOf('shop-cp-0')!.id);
    changes();
    expect(await kept.rest()).toMatchObject({ reasons: ['Suspended'] });
    expect([stateOf(), changes()]).toEqual(['suspended', []]);
    kept.wish({ mend: 'Suspended' });
    expect(await kept.rest()).toMatchObject(well);
    expect([stateOf(), changes()]).toEqual(['on', ['vm.resume']]);
  });

  it('S53: that an update to 26 has set to stand still for snapshots does so no more, and foreign ones are left alone', async () => {
    const kept = await keep();
    await call('vm.create', { name: 'theirs', memory: 1024, autostart: false });
    await room.room.update('26');
    room.switchboard.calls.length = 0;
    expect(await kept.rest()).toMatchObject(well);
    expect(changes()).toEqual(['vm.update']);
    const settings = [...room.room.nas.vms.values()].map(({ row }) => [row['name'], row['suspend_on_snapshot']]);
    expect(settings).toEqual([
      [nameOf(), false],
      ['theirs', true],
    ]);
  });

  it('S60: is not started while its system goes down', async () => {
    const kept = await keep();
    room.room.nas.state = 'SHUTTING_DOWN';
    await off();
    expect((await kept.once()).verdict).toMatchObject({
      kind: 'waiting',
      message: expect.stringMatching(/SHUTTING_DOWN/),
    });
    expect([stateOf(), changes()]).toEqual(['off', []]);
    room.room.nas.state = 'READY';
    expect(await kept.rest()).toMatchObject(well);
  });

  it('T43: that has no memory to start says so, and starts when there is some', async () => {
    const kept = await keep();
    await off();
    await call('vm.create', { name: 'hungry', memory: 61_440, autostart: false });
    await call('vm.start', 2, { overcommit: true });
    changes();
    const short = await kept.once();
    expect(short.verdict).toMatchObject({ kind: 'waiting', reason: 'MemoryShort' });
    await call('vm.poweroff', 2);
    expect(await kept.rest()).toMatchObject(well);
  });

  it('T42: that is off since its dataset was locked starts when that is unlocked', async () => {
    await start();
    const passphrase = 'correct horse';
    const options = { encryption: true, inherit_encryption: false, encryption_options: { passphrase } };
    await call('pool.dataset.create', { name: 'tank/talos', ...options });
    const kept = new Keeping(await member());
    await room.room.restart({ hostReboot: true });
    changes();
    expect(await kept.rest()).toMatchObject({ reasons: ['DatasetLocked', 'PoweredOff'] });
    expect(changes()).toEqual([]);
    await (await room.login()).job('pool.dataset.unlock', 'tank/talos', {
      datasets: [{ name: 'tank/talos', passphrase }],
    });
    kept.process = new Process();
    expect(await kept.rest()).toMatchObject(well);
    expect(stateOf()).toBe('on');
  });

  it.each<[string, string, () => Promise<unknown> | unknown]>([
    [
      'its disk is gone',
      'DiskGone',
      async () => {
        await off();
        await call('pool.dataset.delete', `${[...room.room.nas.datasets.keys()].find((id) => id.endsWith('/boot'))}`);
      },
    ],
    [
      'its pool stands still',
      'PoolFaulted',
      async () => [await off(), await room.room.setPoolStatus('tank', 'FAULTED')],
    ],
    [
      'somebody else has its name',
      'VmGone',
      async () => {
        const name = nameOf();
        await room.room.loseVm(name);
        await call('vm.create', { name, memory: 1024, autostart: false });
      },
    ],
    [
      'there are two of it',
      'VmTwice',
      async () => {
        await off();
        await call('vm.create', { name: 'copy', memory: 1024, uuid: vmOf('shop-cp-0')?.row['uuid'], autostart: false });
      },
    ],
    [
      'a device of others would boot first',
      'BootOrder',
      async () => {
        await off();
        for (const device of room.room.nas.devices.values())
          if (device.attributes['dtype'] === 'CDROM') Object.assign(device, { order: 1 });
      },
    ],
  ])('T42, T46: is not touched where %s, whatever was agreed to', async (_, reason, breakIt) => {
    const kept = await keep({ mend: 'PoweredOff,DeviceMissing,VmGone,VmTwice,DiskGone,BootOrder' });
    await breakIt();
    changes();
    const before = text(dump());
    const told = await kept.rest();
    expect(told.reasons[0]).toBe(reason);
    expect([changes(), text(dump())]).toEqual([[], before]);
    expect(kept.events).toEqual(['NothingToMend']);
  });
});
