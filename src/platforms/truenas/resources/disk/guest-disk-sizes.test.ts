import { describe, expect, it } from 'vitest';
import { Vm } from '../../api/schema.ts';
import { parseGuestDiskSizes, toGuestDiskSizesFact } from './guest-disk-sizes.ts';

const boot = 'tank/talos/shop/boot';
const vm = (state: string, pid: number | null) =>
  Vm.parse({ id: 1, name: 'shop', vcpus: 1, cores: 1, threads: 1, memory: 2048, status: { state, pid } });

describe('disk sizes that the guest sees', () => {
  it('T23: are the first recorded ones while the process is the same', () => {
    const once = toGuestDiskSizesFact({}, vm('RUNNING', 4001), [[boot, 40]]);
    const twice = toGuestDiskSizesFact(once, vm('RUNNING', 4001), [
      [boot, 60],
      ['fast/a:b', 7],
    ]);
    expect([...parseGuestDiskSizes(twice, vm('RUNNING', 4001))].sort()).toEqual([
      ['fast/a:b', 7],
      [boot, 40],
    ]);
    expect(parseGuestDiskSizes(twice, vm('RUNNING', 4002)).size).toBe(0);
    expect(parseGuestDiskSizes(twice, vm('STOPPED', null)).size).toBe(0);
    expect(toGuestDiskSizesFact(twice, vm('RUNNING', 4002), [[boot, 60]])).toEqual({ guestSees: `4002 ${boot}:60` });
  });

  it('T23: are unknown while it is off, or without a record', () => {
    expect(toGuestDiskSizesFact({}, vm('STOPPED', null), [[boot, 40]])).toEqual({});
    expect(parseGuestDiskSizes({}, vm('STOPPED', null)).size).toBe(0);
  });
});
