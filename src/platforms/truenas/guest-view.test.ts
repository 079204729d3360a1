import { describe, expect, it } from 'vitest';
import { noteSeen, seenSizes } from './guest-view.ts';
import { Vm } from './schema.ts';

const boot = 'tank/talos/shop/boot';
const vm = (state: string, pid: number | null) =>
  Vm.parse({ id: 1, name: 'shop', vcpus: 1, cores: 1, threads: 1, memory: 2048, status: { state, pid } });

describe('what a guest sees of its disks', () => {
  it('T23: is what it saw first, as long as it runs in the same process', () => {
    const once = noteSeen({}, vm('RUNNING', 4001), [[boot, 40]]);
    const twice = noteSeen(once, vm('RUNNING', 4001), [
      [boot, 60],
      ['fast/a:b', 7],
    ]);
    expect([...seenSizes(twice, vm('RUNNING', 4001))].sort()).toEqual([
      ['fast/a:b', 7],
      [boot, 40],
    ]);
    expect(seenSizes(twice, vm('RUNNING', 4002)).size).toBe(0);
    expect(seenSizes(twice, vm('STOPPED', null)).size).toBe(0);
    expect(noteSeen(twice, vm('RUNNING', 4002), [[boot, 60]])).toEqual({ guestSees: `4002 ${boot}:60` });
  });

  it('T23: is nothing while it is off, or where nothing was written down', () => {
    expect(noteSeen({}, vm('STOPPED', null), [[boot, 40]])).toEqual({});
    expect(seenSizes({}, vm('STOPPED', null)).size).toBe(0);
  });
});
