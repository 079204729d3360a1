import { describe, expect, it } from 'vitest';
import { type Priority, PriorityQueue } from './priority-queue.ts';

/** The keys in the order in which the queue returns them. */
function order(lanes: PriorityQueue, target: 'free' | 'yield' | 'full' = 'free'): string[] {
  const keys: string[] = [];
  for (let next = lanes.take(target); next; next = lanes.take(target)) keys.push(next.key);
  return keys;
}

function filled(...keys: [string, Priority][]): PriorityQueue {
  const lanes = new PriorityQueue();
  for (const [i, [key, priority]] of keys.entries()) lanes.add(key, priority, i);
  return lanes;
}

describe('keys of two priorities', () => {
  it('are taken by priority, and within a priority in order of arrival', () => {
    expect(order(filled(['a', 'low'], ['b', 'high'], ['c', 'low'], ['d', 'high']))).toEqual(['b', 'd', 'a', 'c']);
  });

  it('are unique: a low-priority key that is added with high priority moves ahead and keeps its ready time', () => {
    const lanes = filled(['a', 'low'], ['b', 'low'], ['b', 'high'], ['b', 'low']);
    expect(lanes.size).toBe(2);
    expect(lanes.take('free')).toEqual({ key: 'b', priority: 'high', since: 1 });
    expect(order(lanes)).toEqual(['a']);
  });

  it('do not starve: after seven high-priority keys a low-priority key is next', () => {
    const prompt = Array.from({ length: 20 }, (_, i): [string, Priority] => [`p${i}`, 'high']);
    const taken = order(filled(['x', 'low'], ['y', 'low'], ...prompt));
    expect([taken.indexOf('x'), taken.indexOf('y')]).toEqual([7, 15]);
  });

  it('of low priority stay in the queue while no worker may take them', () => {
    const lanes = filled(['x', 'low'], ['a', 'high']);
    expect(order(lanes, 'full')).toEqual(['a']);
    expect(lanes.has('x')).toBe(true);
  });

  it('of low priority yield to active high-priority work, but still get their turn after seven', () => {
    const lanes = filled(['x', 'low'], ['a', 'high']);
    expect(order(lanes, 'yield')).toEqual(['a']);
    const prompt = Array.from({ length: 20 }, (_, i): [string, Priority] => [`p${i}`, 'high']);
    const taken = order(filled(['x', 'low'], ['y', 'low'], ['z', 'low'], ...prompt), 'yield');
    expect([taken.indexOf('x'), taken.indexOf('y'), taken.indexOf('z')]).toEqual([7, 15, -1]);
  });
});
