import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';

import { type Durable, Process, room, start, useScene } from './scene.ts';

useScene();

describe('a machine that is observed', () => {
  it.each<[string, (machine: string) => void | Promise<void>, object]>([
    ['switched off by hand', (name) => room.room.powerOff(name), { exists: true, powered: 'off' }],
    [
      'suspended',
      async () => (await room.login()).call('vm.suspend', 1),
      { exists: true, drift: 'The virtual machine is suspended.' },
    ],
    [
      'in a state that nobody can tell',
      () => void Object.assign(room.room.nas, { hasKvm: false }),
      { exists: true, drift: 'TrueNAS cannot tell the state of the virtual machine (ERROR).' },
    ],
    ['deleted by hand', (name) => room.room.loseVm(name), { exists: false }],
    [
      'without its disk',
      (name) => room.room.loseDevice(name, ({ dtype }) => dtype === 'DISK'),
      { exists: true, powered: 'on', drift: expect.stringContaining('boot disk') },
    ],
    [
      'without its network card',
      (name) => room.room.loseDevice(name, ({ dtype }) => dtype === 'NIC'),
      { exists: true, powered: 'on', drift: expect.stringContaining('network card') },
    ],
  ])('T41, T42: %s is seen as that', async (_, breakIt, expected) => {
    await start();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    await process.walk('provision', 'shop-cp-0', durable);
    const { facts } = durable.progress!;
    await breakIt(String(facts['vm']));
    room.switchboard.calls.length = 0;
    expect(await truenas.observe(process.context('shop-cp-0', facts))).toEqual(expected);
    expect(room.switchboard.calls.map(({ name }) => name)).toEqual(['vm.query']);
  });
});
