import { afterEach, describe, expect, it } from 'vitest';
import { codeOf } from '../testing.ts';
import { arm, closeAll, enter, isArmed, linux, oneServer, phase, reset } from './testing.ts';

afterEach(closeAll);

describe('resets', () => {
  const resets = ['sw', 'hw', 'power', 'power_long', 'man'];
  const withLinux = { resets, disks: [{ content: linux }] };

  it('hw cuts at once; sw asks what runs, which takes a while to go', async () => {
    const world = await enter(oneServer(withLinux));
    await reset(world, 'sw');
    await world.clock.pass(4);
    expect(phase(world)).toBe('linux');
    await world.clock.pass(1);
    expect(phase(world)).toBe('post');
    await world.clock.pass(90);
    await reset(world, 'hw');
    await world.clock.pass(0);
    expect([phase(world), world.software.running.size]).toEqual(['post', 0]);
  });

  it('power shuts down what runs, and switches on what is off', async () => {
    const world = await enter(oneServer(withLinux));
    await reset(world, 'power');
    await world.clock.pass(5);
    expect([phase(world), world.room.servers()[0]?.isOn]).toEqual(['off', false]);
    await reset(world, 'power');
    await world.clock.pass(90);
    expect(phase(world)).toBe('linux');
  });

  it('power_long switches off, and nothing but power or the network switches it on again', async () => {
    const world = await enter(oneServer(withLinux));
    await arm(world);
    await reset(world, 'power_long');
    for (const type of ['power_long', 'hw', 'sw']) await reset(world, type);
    await world.clock.pass(600);
    expect([phase(world), await isArmed(world)]).toEqual(['off', true]);
    expect((await world.ask('GET /reset/7')).body.reset.operating_status).toBe('shut off');
    await world.ask('POST /wol/7');
    await world.clock.pass(160);
    expect(phase(world)).toBe('rescue');
    await world.ask('POST /wol/7');
    expect(phase(world)).toBe('rescue');
  });

  it('a hung system minds neither sw nor power; hw helps', async () => {
    const world = await enter(oneServer(withLinux));
    world.room.server(7).machine.hang();
    await world.clock.pass(1);
    expect([phase(world), world.software.running.size]).toEqual(['hung', 0]);
    for (const type of ['sw', 'power']) await reset(world, type);
    await world.clock.pass(300);
    expect(phase(world)).toBe('hung');
    await reset(world, 'hw');
    await world.clock.pass(90);
    expect(phase(world)).toBe('linux');
  });

  it('a hung board needs the power taken from it', async () => {
    const world = await enter(oneServer({ ...withLinux, board: { isHung: true } }));
    for (const type of ['sw', 'hw', 'power']) await reset(world, type);
    await world.clock.pass(300);
    expect(phase(world)).toBe('hung');
    await reset(world, 'power_long');
    await reset(world, 'power');
    await world.clock.pass(90);
    expect(phase(world)).toBe('linux');
    world.room.server(7).machine.hang('board');
    await reset(world, 'hw');
    await world.clock.pass(300);
    expect(phase(world)).toBe('hung');
  });

  it('a technician comes once, in half an hour, and nothing else goes until then', async () => {
    const world = await enter(oneServer({ ...withLinux, board: { isHung: true } }));
    expect((await reset(world, 'man')).status).toBe(200);
    for (const type of ['man', 'hw', 'power_long']) {
      expect(codeOf(await reset(world, type))).toBe('409 RESET_MANUAL_ACTIVE');
    }
    await world.clock.pass(1800 + 90);
    expect(phase(world)).toBe('linux');
    expect((await reset(world, 'hw')).status).toBe(200);
  });

  it('in the firmware power switches off and sw begins again', async () => {
    const world = await enter(oneServer(withLinux));
    await reset(world, 'hw');
    await world.clock.pass(30);
    await reset(world, 'sw');
    await world.clock.pass(44);
    expect(phase(world)).toBe('post');
    await reset(world, 'power');
    await world.clock.pass(0);
    expect(phase(world)).toBe('off');
  });
});
