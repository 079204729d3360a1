import { afterEach, describe, expect, it } from 'vitest';
import {
  armBootConfig,
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

describe('Talos', () => {
  const withTalos = seedWithOneServer({ disks: [{ serial: 'S1', content: talosContent }, { serial: 'S2' }] });

  it('gets the hardware of the machine, and its address by DHCP on the main NIC', async () => {
    const nics = [{ mac: '02:00:00:00:00:01' }, { mac: '02:00:00:00:00:02' }];
    const world = await enter(seedWithOneServer({ disks: [{ content: talosContent }], nics, memoryMiB: 32768 }));
    expect(world.runner.started[0]).toMatchObject({
      memoryMiB: 32768,
      vcpus: 16,
      firmware: 'uefi',
      rebootEnds: true,
      nics: [
        { mac: '02:00:00:00:00:01', dhcp: { address: serverAddress, prefix: 26, gateway: '127.42.60.1' } },
        { mac: '02:00:00:00:00:02' },
      ],
    });
    expect(world.runner.started[0]?.nics[1]).not.toHaveProperty('dhcp');
  });

  it('that reboots goes through the firmware: an armed configuration comes first', async () => {
    const world = await enter(withTalos);
    await armBootConfig(world);
    world.runner.started[0]?.end('reboot');
    await world.clock.pass(160);
    expect(phaseOf(world)).toBe('rescue');
  });

  it('that shuts down is off', async () => {
    const world = await enter(withTalos);
    world.runner.started[0]?.end('off');
    await world.clock.pass(1);
    expect([phaseOf(world), world.room.servers()[0]?.isOn]).toEqual(['off', false]);
  });

  it('is shut down by the power button, and comes back after Ctrl-Alt-Del', async () => {
    const world = await enter({
      servers: [{ number: 7, resets: ['sw', 'power'], disks: [{ content: talosContent }] }],
    });
    await requestReset(world, 'sw');
    await world.clock.pass(60);
    expect([phaseOf(world), world.runner.started.length]).toEqual(['talos', 2]);
    await requestReset(world, 'power');
    await world.clock.pass(60);
    expect(phaseOf(world)).toBe('off');
  });

  it('that is reset ends at once, and starts again as the same machine', async () => {
    const world = await enter(withTalos);
    await requestReset(world);
    await world.clock.pass(60);
    expect(world.runner.started).toHaveLength(2);
    expect(world.runner.started[1]?.uuid).toBe(world.runner.started[0]?.uuid);
  });

  it('that writes to a disk is in the ledger, with that disk alone', async () => {
    const world = await enter(withTalos);
    expect(world.room.writes()).toEqual([]);
    world.runner.started[0]?.scribble();
    const write = { serverNumber: 7, serial: 'S1', offset: 0, length: 512_110_190_592, by: 'talos' };
    expect(world.room.writes(7)).toEqual([write]);
    expect(world.room.writes(7)).toEqual([write]);
  });
});

describe('a server', () => {
  it('whose system cannot start hangs, and reports the reason', async () => {
    const world = await enter(seedWithOneServer());
    world.software.failure = 'EADDRNOTAVAIL';
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(160);
    expect(world.room.servers()[0]).toMatchObject({ phase: 'hung', stuck: 'EADDRNOTAVAIL' });
  });

  it('with a Linux starts in the running state, without a boot', async () => {
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH';
    const content = { ...linuxContent, authorizedKeys: [key], hetznerBuild: true };
    const world = await enter(seedWithOneServer({ disks: [{ bus: 'sata', content }] }));
    expect(world.software.running.get(serverAddress)).toMatchObject({ kind: 'files', keys: [key], root: 'sda3' });
    expect((await world.ask('GET /boot/7')).body.boot.rescue.active).toBe(false);
  });

  it('that is off in the seed stays off', async () => {
    const world = await enter(seedWithOneServer({ power: 'off', disks: [{ content: linuxContent }] }));
    await world.clock.pass(600);
    expect(world.room.servers()[0]).toMatchObject({ phase: 'off', bootCount: 0 });
  });

  it('that is switched quickly many times ends in the last state', async () => {
    const world = await enter(seedWithOneServer({ disks: [{ content: linuxContent }] }));
    const { machine } = world.room.server(7);
    for (let i = 0; i < 5; i += 1) machine.powerCycle();
    await world.clock.pass(90);
    expect(phaseOf(world)).toBe('linux');
    machine.cut();
    machine.switchOn();
    machine.cut();
    await world.clock.pass(600);
    expect(phaseOf(world)).toBe('off');
  });

  it.each([
    [{ servers: [{ number: 7 }, { number: 7 }] }, /two servers 7/],
    [{ servers: [{ number: 7, account: 'x' }] }, /there is no account x/],
    [{ servers: [{ number: 0 }] }, /the seed is not one for robot/],
    [{ accounts: [{ failovers: [{ ip: '198.51.100.7', server: 1 }] }] }, /has no server 1/],
  ])('an invalid seed is refused with a sentence: %j', async (seed, sentence) => {
    await expect(enter(seed)).rejects.toThrow(sentence);
  });
});
