import { describe, expect, it } from 'vitest';
import { type Priority, PriorityQueue } from './priority-queue.ts';

/** The keys in the order in which they are taken. */
function order(lanes: PriorityQueue, patient: 'free' | 'yield' | 'full' = 'free'): string[] {
  const keys: string[] = [];
  for (let next = lanes.take(patient); next; next = lanes.take(patient)) keys.push(next.key);
  return keys;
}

function filled(...keys: [string, Priority][]): PriorityQueue {
  const lanes = new PriorityQueue();
  for (const [i, [key, lane]] of keys.entries()) lanes.add(key, lane, i);
  return lanes;
}

describe('keys in two lanes', () => {
  it('are taken prompt before patient, and in each lane as they came', () => {
    expect(order(filled(['a', 'patient'], ['b', 'prompt'], ['c', 'patient'], ['d', 'prompt']))).toEqual([
      'b',
      'd',
      'a',
      'c',
    ]);
  });

  it('are there once: asked for promptly a patient one overtakes, and keeps since when it waits', () => {
    const lanes = filled(['a', 'patient'], ['b', 'patient'], ['b', 'prompt'], ['b', 'patient']);
    expect(lanes.size).toBe(2);
    expect(lanes.take('free')).toEqual({ key: 'b', lane: 'prompt', since: 1 });
    expect(order(lanes)).toEqual(['a']);
  });

  it('starve nobody: after seven prompt ones a patient one has its turn', () => {
    const prompt = Array.from({ length: 20 }, (_, i): [string, Priority] => [`p${i}`, 'prompt']);
    const taken = order(filled(['x', 'patient'], ['y', 'patient'], ...prompt));
    expect([taken.indexOf('x'), taken.indexOf('y')]).toEqual([7, 15]);
  });

  it('leave patient ones where they are while those may have no worker', () => {
    const lanes = filled(['x', 'patient'], ['a', 'prompt']);
    expect(order(lanes, 'full')).toEqual(['a']);
    expect(lanes.has('x')).toBe(true);
  });

  it('yield while somebody is waited for, and starve no more than else', () => {
    const lanes = filled(['x', 'patient'], ['a', 'prompt']);
    expect(order(lanes, 'yield')).toEqual(['a']);
    const prompt = Array.from({ length: 20 }, (_, i): [string, Priority] => [`p${i}`, 'prompt']);
    const taken = order(filled(['x', 'patient'], ['y', 'patient'], ['z', 'patient'], ...prompt), 'yield');
    expect([taken.indexOf('x'), taken.indexOf('y'), taken.indexOf('z')]).toEqual([7, 15, -1]);
  });
});
