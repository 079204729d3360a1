import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ReservationTable } from './reservation-table.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);

function lab() {
  const time = { seconds: 0 };
  const clock = {
    now: () => new Date(0),
    monotonic: () => time.seconds * 1000,
    sleep: () => Promise.reject(new Error('nobody sleeps here')),
  };
  const system = { available: 100, asked: 0, fails: false };
  const reservations = new ReservationTable(clock, 15);
  const ask = async () => {
    system.asked += 1;
    if (system.fails) throw new Error('away');
    return system.available;
  };
  return {
    time,
    system,
    book: reservations,
    hold: (id: string, bytes: number) => reservations.hold(id, { takes: bytes }, ask, never),
  };
}

describe('a reservation table', () => {
  it('T19, G17: reserves no more than the system has for concurrent machines, by one call', async () => {
    const { system, hold } = lab();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => hold(`m-${i}`, 20)));
    expect(answers.filter(({ reserved }) => reserved)).toHaveLength(5);
    expect(answers.slice(5)).toEqual(Array(15).fill({ reserved: false, left: 0 }));
    expect(system.asked).toBe(1);
  });

  it('asks again when an answer is old, and subtracts reservations that are not in use yet', async () => {
    const { time, system, hold } = lab();
    await hold('a', 60);
    time.seconds = 14;
    expect(await hold('b', 60)).toEqual({ reserved: false, left: 40 });
    expect(system.asked).toBe(1);
    time.seconds = 15;
    system.available = 130;
    expect(await hold('b', 60)).toEqual({ reserved: true });
    expect(system.asked).toBe(2);
  });

  it('extends a reservation without a call', async () => {
    const { time, system, hold } = lab();
    await hold('a', 60);
    for (const seconds of [600, 1200, 1800]) {
      time.seconds = seconds;
      expect(await hold('a', 60)).toEqual({ reserved: true });
    }
    expect(system.asked).toBe(1);
    expect(await hold('b', 60)).toEqual({ reserved: false, left: 40 });
  });

  it('drops the reservation of a running machine, which the system counts', async () => {
    const { time, system, book: reservations, hold } = lab();
    await hold('a', 60);
    system.available = 40;
    reservations.commit('a');
    expect(await hold('b', 60)).toEqual({ reserved: false, left: 40 });
    time.seconds = 15;
    expect(await hold('b', 60)).toEqual({ reserved: false, left: 40 });
    expect(await hold('c', 40)).toEqual({ reserved: true });
  });

  it('gives a cancelled reservation to others at once', async () => {
    const { book: reservations, hold } = lab();
    await hold('a', 60);
    expect(await hold('b', 60)).toMatchObject({ reserved: false });
    reservations.cancel('a');
    expect(await hold('b', 60)).toEqual({ reserved: true });
  });

  it('expires a reservation that is not renewed', async () => {
    const { time, hold } = lab();
    await hold('a', 60);
    time.seconds = 15 * 60;
    expect(await hold('b', 60)).toEqual({ reserved: true });
  });

  it('reserves nothing from an outdated answer', async () => {
    const { system, book: reservations } = lab();
    await reservations.hold('a', { takes: 60 }, async () => 100, never);
    let report = (_: number) => {};
    reservations.cancel('a');
    const slow = reservations.hold(
      'b',
      { takes: 60 },
      () => new Promise<number>((resolve) => (report = resolve)),
      never,
    );
    await reservations.hold('c', { takes: 0 }, async () => 0, never).catch(() => {});
    reservations.cancel('c');
    const other = reservations.hold('d', { takes: 60 }, async () => system.available, never);
    report(100);
    const answers = await Promise.all([slow, other]);
    expect(answers.filter(({ reserved }) => reserved)).toHaveLength(1);
  });

  it('G17: never reserves the spare bytes of an earlier reservation, in any order of use', async () => {
    const { book: reservations, system } = lab();
    const hold = (id: string, takes: number, unassigned: number) =>
      reservations.hold(id, { takes, spare: unassigned }, async () => system.available, never);
    expect(await hold('a', 50, 20)).toEqual({ reserved: true });
    expect(await hold('b', 10, 45)).toEqual({ reserved: false, left: 50 });
    expect(await hold('c', 40, 10)).toEqual({ reserved: false, left: 50 });
    expect(await hold('d', 30, 10)).toEqual({ reserved: true });
    expect(await hold('e', 10, 0)).toEqual({ reserved: false, left: 20 });
    reservations.commit('a');
    expect(await hold('e', 10, 0)).toEqual({ reserved: true });
  });

  it('keeps no failed answer', async () => {
    const { system, hold } = lab();
    system.fails = true;
    await expect(hold('a', 60)).rejects.toThrow('away');
    system.fails = false;
    expect(await hold('a', 60)).toEqual({ reserved: true });
  });
});
