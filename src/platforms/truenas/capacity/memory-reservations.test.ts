import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { TrueNasError } from '../error-codes.ts';
import { MemoryReservations } from './memory-reservations.ts';

const { signal } = new AbortController();
const [byName, byAddress, other] = ['wss://nas', 'wss://192.0.2.1', 'wss://other'];

function createFixture() {
  const books = new MemoryReservations(new ManualClock());
  const asked: string[] = [];
  const meet = (url: string, id: string | undefined) =>
    books.checkLimit(url, async () => {
      asked.push(url);
      if (id === undefined) throw new TrueNasError('TRUENAS_UNREACHABLE');
      return id;
    });
  /** Of ten units that the system can guarantee. */
  const hold = async (url: string, machine: string, bytes: number) =>
    (await books.of(url).hold(machine, { takes: bytes }, async () => 10, signal)).reserved;
  return { books, asked, meet, hold };
}

describe('memory of a system with several URLs', () => {
  it('G17: is reserved once, also when it was reserved before the second URL was used', async () => {
    const { meet, hold } = createFixture();
    await meet(byName, '1');
    expect(await hold(byName, 'a', 4)).toBe(true);
    await meet(byAddress, '1');
    expect(await hold(byAddress, 'b', 4)).toBe(true);
    await meet(byName, '1');
    expect([await hold(byName, 'c', 4), await hold(byAddress, 'c', 2)]).toEqual([false, true]);
  });

  it('is released under either URL', async () => {
    const { books, meet, hold } = createFixture();
    for (const url of [byName, byAddress, byName]) await meet(url, '1');
    await hold(byName, 'a', 10);
    books.of(byAddress).cancel('a');
    expect(await hold(byAddress, 'b', 10)).toBe(true);
  });

  it.each([
    ['says something else', '2'],
    ['does not answer', undefined],
    ['cannot tell', ''],
  ])('is separate where a system %s', async (_, id) => {
    const { meet, hold } = createFixture();
    for (const [url, says] of [
      [byName, id === '' ? '' : '1'],
      [other, id],
      [byName, id === '' ? '' : '1'],
    ] as const)
      await meet(url, says);
    expect([await hold(byName, 'a', 10), await hold(other, 'b', 10)]).toEqual([true, true]);
  });

  it('costs no call with one URL, and one call for each with several', async () => {
    const { asked, meet } = createFixture();
    for (let i = 0; i < 3; i += 1) await meet(byName, '1');
    expect(asked).toEqual([]);
    for (const url of [byAddress, byName, byAddress, byName]) await meet(url, '1');
    expect(asked).toEqual([byAddress, byName]);
  });
});
