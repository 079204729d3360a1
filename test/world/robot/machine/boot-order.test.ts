import { afterEach, describe, expect, it } from 'vitest';
import { readRecordedContent } from '../robot-fixture.ts';
import {
  bootIntoRescue,
  closeAll,
  enter,
  linuxContent,
  phaseOf,
  requestReset,
  seedWithOneServer,
  serverAddress,
  talosContent,
} from './machine-fixture.ts';

afterEach(closeAll);

describe('the boot order', () => {
  const disk = (serial: string, content: object = { kind: 'blank' }) => ({ serial, content });
  const entry = (id: string, serial: string) => ({ id, label: serial, target: { kind: 'disk', serial } });

  it('goes to whatever lies on the disk it names first', async () => {
    const entries = [entry('0001', 'S1'), entry('0002', 'S2')];
    const disks = [disk('S1', linuxContent), disk('S2', talosContent)];
    const world = await enter(seedWithOneServer({ disks, firmware: { entries, order: ['0002', '0001'] } }));
    expect(phaseOf(world)).toBe('talos');
    expect(world.runner.started[0]?.disks).toMatchObject([
      { serial: 'S1', order: 1 },
      { serial: 'S2', order: 0 },
    ]);
    world.room.server(7).machine.box.hardware.firmware.order = ['0001', '0002'];
    await requestReset(world);
    await world.clock.pass(75);
    expect(phaseOf(world)).toBe('linux');
  });

  it.each([
    ['skip', 'linux'],
    ['hang', 'hung'],
  ])('an entry that leads nowhere: some boards %s', async (onMissingLoader, expected) => {
    const entries = [entry('0001', 'S1'), entry('0002', 'S2')];
    const disks = [disk('S1'), disk('S2', linuxContent)];
    const world = await enter(seedWithOneServer({ disks, firmware: { entries }, board: { onMissingLoader } }));
    expect(phaseOf(world)).toBe(expected);
  });

  it.each([
    [true, 'talos'],
    [false, 'nothing'],
  ])('a loader without an entry is found by some boards: %s', async (findsLoaders, expected) => {
    const disks = [disk('S1'), disk('S2', talosContent)];
    const world = await enter(seedWithOneServer({ disks, firmware: { findsLoaders } }));
    expect(phaseOf(world)).toBe(expected);
  });

  it('a stale system on another disk starts when it comes first', async () => {
    const world = await enter(seedWithOneServer({ disks: [disk('S1', talosContent), disk('S2', talosContent)] }));
    expect(world.runner.started[0]?.disks.map(({ order }) => order)).toEqual([0, 2]);
  });

  it('names of disks go round where the board likes, and serials stay', async () => {
    const disks = [disk('S1'), disk('S2'), { bus: 'sata', serial: 'S3' }];
    const world = await enter(seedWithOneServer({ disks, board: { swapsDiskNames: true, udevSeconds: 20 } }));
    await bootIntoRescue(world);
    const first = world.software.running.get(serverAddress);
    await bootIntoRescue(world);
    expect(first).toMatchObject({ names: ['nvme0n1', 'nvme1n1', 'sda'], udevSeconds: 20 });
    expect(world.software.running.get(serverAddress)?.names).toEqual(['nvme1n1', 'nvme0n1', 'sda']);
    expect(world.room.server(7).machine.box.hardware.disks.map(({ serial }) => serial)).toEqual(['S1', 'S2', 'S3']);
  });
});

describe('what is armed beside rescue', () => {
  it('erases every disk at the next boot, asks nobody, and the ledger tells', async () => {
    const disks = [{ serial: 'S1' }, { serial: 'S2', sizeBytes: 1_000_000, content: { kind: 'ceph' } }];
    const world = await enter(seedWithOneServer({ disks }));
    const [, ceph] = world.room.server(7).machine.box.hardware.disks;
    await world.ask('POST /boot/7/linux', { form: 'dist=Debian+12+base&lang=en' });
    expect(world.room.writes()).toEqual([]);
    expect(readRecordedContent(ceph?.path ?? '')).toEqual({ kind: 'ceph' });
    await requestReset(world);
    await world.clock.pass(60);
    expect(phaseOf(world)).toBe('installing');
    expect(world.room.writes()).toEqual([
      { serverNumber: 7, serial: 'S1', offset: 0, length: 512_110_190_592, by: 'install linux' },
      { serverNumber: 7, serial: 'S2', offset: 0, length: 1_000_000, by: 'install linux' },
    ]);
    expect(readRecordedContent(ceph?.path ?? '')).toBeUndefined();
    await world.clock.pass(240 + 60 + 30);
    expect([phaseOf(world), world.software.running.get(serverAddress)?.kind]).toEqual(['linux', 'linux']);
  });
});
