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

  it('boots the content of the disk that it names first', async () => {
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
  ])('with an entry without a loader: some boards %s', async (onMissingLoader, expected) => {
    const entries = [entry('0001', 'S1'), entry('0002', 'S2')];
    const disks = [disk('S1'), disk('S2', linuxContent)];
    const world = await enter(seedWithOneServer({ disks, firmware: { entries }, board: { onMissingLoader } }));
    expect(phaseOf(world)).toBe(expected);
  });

  it.each([
    [true, 'talos'],
    [false, 'nothing'],
  ])('with a loader without an entry: some boards find it: %s', async (findsLoaders, expected) => {
    const disks = [disk('S1'), disk('S2', talosContent)];
    const world = await enter(seedWithOneServer({ disks, firmware: { findsLoaders } }));
    expect(phaseOf(world)).toBe(expected);
  });

  it('boots a stale system on another disk when that disk comes first', async () => {
    const world = await enter(seedWithOneServer({ disks: [disk('S1', talosContent), disk('S2', talosContent)] }));
    expect(world.runner.started[0]?.disks.map(({ order }) => order)).toEqual([0, 2]);
  });

  it('with some boards the names of disks rotate, and serials stay', async () => {
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

describe('an armed configuration other than rescue', () => {
  it('erases every disk at the next boot without confirmation, and the ledger shows it', async () => {
    const disks = [{ serial: 'S1' }, { serial: 'S2', sizeBytes: 1_000_000, content: { kind: 'ceph' } }];
    const world = await enter(seedWithOneServer({ disks }));
    const [, ceph] = world.room.server(7).machine.box.hardware.disks;
    const activation = { kind: 'linux', system: 'Debian 12 base', password: null, keys: [], at: 0 } as const;
    world.room.server(7).activation = activation;
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
