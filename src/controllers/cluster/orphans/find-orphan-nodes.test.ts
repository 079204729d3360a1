import { expect, it } from 'vitest';
import type { Machine } from '../../../api/machine.ts';
import { machineName } from '../../../api/names.ts';
import { findOrphanNodes, isControlPlaneName } from './find-orphan-nodes.ts';

const ref = { namespace: 'shop', name: 'main' };
const name = (pool: string, slot: number) => machineName(ref, pool, slot);
const named = (...names: string[]) => names.map((one) => ({ metadata: { name: one } }) as Machine);

it('D37: a Node is an orphan if it has the name of a Machine of the cluster that does not exist', () => {
  const nodes = [name('cp', 0), name('cp', 1), name('work-large', 12), name('work', 0)];
  const foreign = ['box-1', machineName({ namespace: 'shop', name: 'other' }, 'work', 1), `${name('work', 1)}-box`];
  const about = { ref, nodePrefix: undefined, machines: named(name('cp', 0), name('work', 0)) };
  const found = findOrphanNodes([...nodes, ...foreign], about);
  expect(found).toEqual([name('cp', 1), name('work-large', 12)]);
  expect(found.map((one) => isControlPlaneName(about, one))).toEqual([true, false]);
});

it('D37: the name of the Machines can be another than that of the Cluster', () => {
  const about = { ref, nodePrefix: 'box', machines: [] };
  const orphan = machineName(ref, 'cp', 1, 'box');
  expect(findOrphanNodes([orphan, name('cp', 1)], about)).toEqual([orphan]);
  expect(isControlPlaneName(about, orphan)).toBe(true);
});
