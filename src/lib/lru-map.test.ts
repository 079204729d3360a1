import { describe, expect, it } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('an LRU map', () => {
  it('evicts the least recently used entry', () => {
    const map = new LruMap<string, number>(3);
    for (const [i, key] of ['a', 'b', 'c'].entries()) map.set(key, i);
    expect(map.get('a')).toBe(0);
    map.set('d', 3);
    expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([0, undefined, 2, 3]);
    map.set('c', 7);
    expect([map.size, map.get('c')]).toEqual([3, 7]);
  });

  it('makes a value once, and keeps it for as long as it is used', () => {
    const map = new LruMap<string, number>(2);
    let made = 0;
    const get = (key: string) => map.getOrAdd(key, () => (made += 1));
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map(get)).toEqual([1, 2, 1, 3, 1, 4]);
    const fail = () => {
      throw new Error('not made');
    };
    expect(() => map.getOrAdd('d', fail)).toThrow('not made');
    expect(map.getOrAdd('d', () => 9)).toBe(9);
  });

  it('never exceeds its capacity', () => {
    const map = new LruMap<number, number>(100);
    for (let i = 0; i < 10_000; i += 1) map.set(i, i);
    expect(map.size).toBe(100);
    map.drop((value) => value % 2 === 0);
    expect([map.size, map.delete(9999), map.delete(9999)]).toEqual([50, true, false]);
    map.clear();
    expect(map.size).toBe(0);
  });
});
