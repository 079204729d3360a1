import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../api/machine.ts';
import type { ComparedNode } from '../../../talos/update/compare-node.ts';
import { ComparedMachines } from './compared-machines.ts';

const machine = { metadata: { name: 'one', uid: 'uid-1' } } as Machine;
const node = (bootId: string): ComparedNode => ({
  found: { running: { talosVersion: '1.13.7' }, changes: [] },
  ...{ revision: 'r', active: 'a', bootId },
});

describe('the comparisons of a Machine', () => {
  it('count for one boot for a minute after the node has named it, however often it is compared', () => {
    let now = 0;
    const known = new ComparedMachines({ monotonic: () => now });
    expect(known.former(machine)).toBeUndefined();
    known.record(machine, node('boot-1'));
    now = 50_000;
    expect(known.former(machine)).toMatchObject({ bootId: 'boot-1', isSameBoot: true });
    known.record(machine, node('boot-1'));
    now = 70_000;
    expect(known.former(machine)).toMatchObject({ bootId: 'boot-1', isSameBoot: false });
    known.record(machine, node('boot-1'));
    expect(known.former(machine)?.isSameBoot).toBe(true);
  });

  it('are forgotten with the node', () => {
    const known = new ComparedMachines({ monotonic: () => 0 });
    known.record(machine, node('boot-1'));
    known.recordUpToDate(machine, 'inputs');
    known.forget(machine);
    expect(known.former(machine)).toBeUndefined();
    const status = { conditions: [{ type: 'UpToDate', status: 'True' }] } as Machine['status'];
    expect(known.isUpToDate({ ...machine, status } as Machine, 'inputs')).toBe(false);
  });
});
