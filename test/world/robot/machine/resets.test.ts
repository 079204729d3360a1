import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf } from '../robot-fixture.ts';
import {
  armBootConfig,
  closeAll,
  enter,
  isRescueArmed,
  linuxContent,
  phaseOf,
  requestReset,
  seedWithOneServer,
} from './machine-fixture.ts';

afterEach(closeAll);

describe('resets', () => {
  const resets = ['sw', 'hw', 'power', 'power_long', 'man'];
  const withLinux = { resets, disks: [{ content: linuxContent }] };

  it('hw resets at once; sw asks the running system, which takes a while to stop', async () => {
    const world = await enter(seedWithOneServer(withLinux));
    await requestReset(world, 'sw');
    await world.clock.pass(4);
    expect(phaseOf(world)).toBe('linux');
    await world.clock.pass(1);
    expect(phaseOf(world)).toBe('post');
    await world.clock.pass(90);
    await requestReset(world, 'hw');
    await world.clock.pass(0);
    expect([phaseOf(world), world.software.running.size]).toEqual(['post', 0]);
  });

  it('power shuts the running system down, and switches on a server that is off', async () => {
    const world = await enter(seedWithOneServer(withLinux));
    await requestReset(world, 'power');
    await world.clock.pass(5);
    expect([phaseOf(world), world.room.servers()[0]?.isOn]).toEqual(['off', false]);
    await requestReset(world, 'power');
    await world.clock.pass(90);
    expect(phaseOf(world)).toBe('linux');
  });

  it('power_long switches off, and only power switches it on again', async () => {
    const world = await enter(seedWithOneServer(withLinux));
    await armBootConfig(world);
    await requestReset(world, 'power_long');
    for (const type of ['power_long', 'hw', 'sw']) await requestReset(world, type);
    await world.clock.pass(600);
    expect([phaseOf(world), await isRescueArmed(world)]).toEqual(['off', true]);
    expect((await world.ask('GET /reset/7')).body.reset.operating_status).toBe('shut off');
    await requestReset(world, 'power');
    await world.clock.pass(160);
    expect(phaseOf(world)).toBe('rescue');
  });

  it('a hung system ignores sw and power; hw helps', async () => {
    const world = await enter(seedWithOneServer(withLinux));
    world.room.server(7).machine.hang();
    await world.clock.pass(1);
    expect([phaseOf(world), world.software.running.size]).toEqual(['hung', 0]);
    for (const type of ['sw', 'power']) await requestReset(world, type);
    await world.clock.pass(300);
    expect(phaseOf(world)).toBe('hung');
    await requestReset(world, 'hw');
    await world.clock.pass(90);
    expect(phaseOf(world)).toBe('linux');
  });

  it('a hung board needs a power cut', async () => {
    const world = await enter(seedWithOneServer({ ...withLinux, board: { isHung: true } }));
    for (const type of ['sw', 'hw', 'power']) await requestReset(world, type);
    await world.clock.pass(300);
    expect(phaseOf(world)).toBe('hung');
    await requestReset(world, 'power_long');
    await requestReset(world, 'power');
    await world.clock.pass(90);
    expect(phaseOf(world)).toBe('linux');
    world.room.server(7).machine.hang('board');
    await requestReset(world, 'hw');
    await world.clock.pass(300);
    expect(phaseOf(world)).toBe('hung');
  });

  it('a technician comes once, in half an hour, and no other reset is possible until then', async () => {
    const world = await enter(seedWithOneServer({ ...withLinux, board: { isHung: true } }));
    expect((await requestReset(world, 'man')).status).toBe(200);
    for (const type of ['man', 'hw', 'power_long']) {
      expect(statusAndCodeOf(await requestReset(world, type))).toBe('409 RESET_MANUAL_ACTIVE');
    }
    await world.clock.pass(1800 + 90);
    expect(phaseOf(world)).toBe('linux');
    expect((await requestReset(world, 'hw')).status).toBe(200);
  });

  it('in the firmware power switches off and sw restarts', async () => {
    const world = await enter(seedWithOneServer(withLinux));
    await requestReset(world, 'hw');
    await world.clock.pass(30);
    await requestReset(world, 'sw');
    await world.clock.pass(44);
    expect(phaseOf(world)).toBe('post');
    await requestReset(world, 'power');
    await world.clock.pass(0);
    expect(phaseOf(world)).toBe('off');
  });
});
