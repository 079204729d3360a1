import { afterEach, describe, expect, it } from 'vitest';
import type { RobotFixture } from '../robot-fixture.ts';
import {
  armBootConfig,
  bootIntoRescue,
  closeAll,
  enter,
  isRescueArmed,
  linuxContent,
  phaseOf,
  requestReset,
  seedWithOneServer,
  serverAddress,
} from './machine-fixture.ts';

afterEach(closeAll);

const historyOf = ({ room }: RobotFixture) => room.servers()[0]?.history.slice(1);

describe('rescue', () => {
  it('is consumed by the network boot, long before it answers', async () => {
    const world = await enter(seedWithOneServer());
    const { body } = await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(59);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['network', true]);
    await world.clock.pass(1);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['loading', false]);
    await world.clock.pass(99);
    expect(world.software.running.size).toBe(0);
    await world.clock.pass(1);
    expect(world.software.running.get(serverAddress)).toMatchObject({ kind: 'rescue', password: body.rescue.password });
    expect((await world.ask('GET /boot/7/rescue/last')).body.rescue).toMatchObject({ active: false });
    expect(historyOf(world)).toEqual(['post', 'network', 'nothing', 'post', 'network', 'loading', 'rescue']);
  });

  it('lasts one boot: the next one goes to the disk', async () => {
    const world = await enter(seedWithOneServer({ disks: [{ content: linuxContent }] }));
    await bootIntoRescue(world);
    world.software.running.get(serverAddress)?.power('reboot');
    await world.clock.pass(4);
    expect(phaseOf(world)).toBe('rescue');
    await world.clock.pass(1);
    expect(phaseOf(world)).toBe('post');
    await world.clock.pass(45 + 15 + 30);
    expect([phaseOf(world), world.software.running.get(serverAddress)?.kind]).toEqual(['linux', 'files']);
  });

  it('armed alone reboots nothing, and disarmed does not boot', async () => {
    const world = await enter(seedWithOneServer({ disks: [{ content: linuxContent }] }));
    await armBootConfig(world);
    await world.clock.pass(600);
    expect(historyOf(world)).toEqual(['post', 'network', 'linux']);
    await world.ask('DELETE /boot/7/rescue');
    await requestReset(world);
    await world.clock.pass(300);
    expect(phaseOf(world)).toBe('linux');
  });

  it('is lost when a second reset restarts the boot', async () => {
    const world = await enter(seedWithOneServer({ disks: [{ content: linuxContent }] }));
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(80);
    expect(phaseOf(world)).toBe('loading');
    await requestReset(world);
    await world.clock.pass(45 + 15 + 30);
    expect(phaseOf(world)).toBe('linux');
  });

  it('still boots after a reset during the self test, which restarts', async () => {
    const world = await enter(seedWithOneServer());
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(44);
    await requestReset(world);
    await world.clock.pass(44);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['post', true]);
    await world.clock.pass(116);
    expect(phaseOf(world)).toBe('rescue');
  });

  it('is skipped where the disk comes first, and stays armed', async () => {
    const entries = [
      { id: '0000', label: 'debian', target: { kind: 'disk', serial: 'S1' } },
      { id: '0001', label: 'PXE', target: { kind: 'network', nic: 'eth0' } },
    ];
    const world = await enter(
      seedWithOneServer({ disks: [{ serial: 'S1', content: linuxContent }], firmware: { entries } }),
    );
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(300);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['linux', true]);
  });

  it.each([
    ['an entry that is switched off', { active: false }, {}],
    ['an entry that the board never tries', {}, { skips: ['0000'] }],
  ])('is not reached by %s', async (_, change, board) => {
    const entries = [{ id: '0000', label: 'PXE', target: { kind: 'network', nic: 'eth0' }, ...change }];
    const world = await enter(seedWithOneServer({ firmware: { entries }, board }));
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(300);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['nothing', true]);
  });

  it('boots from the main NIC alone, and NICs without a cable cost a minute each', async () => {
    const nics = [{ speedMbps: 0 }, { speedMbps: 10_000 }];
    const world = await enter(seedWithOneServer({ nics, disks: [{ content: linuxContent }] }));
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(45 + 60 + 15 + 29);
    expect(phaseOf(world)).toBe('network');
    await world.clock.pass(1);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['linux', true]);
  });

  it('may be fetched and never start: another attempt needs another activation', async () => {
    const world = await enter(seedWithOneServer({ board: { lostRescues: 1 } }));
    await armBootConfig(world);
    await requestReset(world);
    await world.clock.pass(3600);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['hung', false]);
    expect(world.room.servers()[0]?.stuck).toBe('the rescue system does not come up');
    await bootIntoRescue(world);
  });

  it('has another boot id each time', async () => {
    const world = await enter(seedWithOneServer());
    await bootIntoRescue(world);
    const first = world.room.servers()[0]?.bootId;
    await bootIntoRescue(world);
    expect(first).toBeDefined();
    expect(world.room.servers()[0]?.bootId).not.toBe(first);
    await requestReset(world);
    await world.clock.pass(1);
    expect(world.room.servers()[0]?.bootId).toBeUndefined();
  });
});
