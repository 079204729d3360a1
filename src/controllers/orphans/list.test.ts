import { describe, expect, it } from 'vitest';
import { recognize, shorten } from './list.ts';

const early = '2026-11-21T09:00:00Z';
const late = '2026-11-21T21:00:00Z';
const orphan = { machine: 'a', what: ['dataset tank/a', 'zvol tank/a/boot'], runs: false };
const entry = { machine: 'a', what: '', since: early, restingSince: early, message: '' };
const at = new Date(late);

describe('an orphan', () => {
  it('is first seen now, and rests from now on when nothing of it runs', () => {
    const what = 'dataset tank/a, zvol tank/a/boot';
    expect(recognize(orphan, [], at)).toEqual({ machine: 'a', what, since: late, restingSince: late });
  });

  it('keeps both times from look to look', () => {
    expect(recognize(orphan, [entry], at)).toMatchObject({ since: early, restingSince: early });
  });

  it('does not rest while it runs, and rests anew after that', () => {
    const running = recognize({ ...orphan, runs: true }, [entry], at);
    expect(running).toEqual(expect.not.objectContaining({ restingSince: expect.anything() }));
    expect(recognize(orphan, [{ ...running, message: '' }], at)).toMatchObject({ since: early, restingSince: late });
  });

  it('has nothing of another', () => {
    expect(recognize(orphan, [{ ...entry, machine: 'b' }], at)).toMatchObject({ since: late });
  });
});

describe('the list', () => {
  it('holds the oldest fifty, so that a newer one never takes the place of one that is known', () => {
    const entries = Array.from({ length: 60 }, (_, i) => ({
      ...entry,
      machine: `m-${i}`,
      since: i < 10 ? late : early,
    }));
    const list = shorten(entries);
    expect(list).toHaveLength(50);
    expect(list.every(({ since }) => since === early)).toBe(true);
    expect(shorten([...entries].reverse())).toEqual(list);
  });
});
