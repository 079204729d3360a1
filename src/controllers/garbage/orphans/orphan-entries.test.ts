import { describe, expect, it } from 'vitest';
import { selectListedOrphans, updateObservation } from './orphan-entries.ts';

const early = '2026-11-21T09:00:00Z';
const [before, late] = ['2026-11-21T20:50:00Z', '2026-11-21T21:00:00Z'];
const orphan = { machine: 'a', resources: ['dataset tank/a', 'zvol tank/a/boot'] };
const entry = { machine: 'a', resources: '', since: early, unusedSince: early, lastSeenAt: before, message: '' };
const at = new Date(late);

describe('an orphan', () => {
  it('is first observed now, and unused since now if there is no objection', () => {
    const resources = 'dataset tank/a, zvol tank/a/boot';
    const seen = { machine: 'a', resources, since: late };
    expect(updateObservation(orphan, true, [], at)).toEqual({ ...seen, unusedSince: late, lastSeenAt: late });
    expect(updateObservation(orphan, false, [], at)).toEqual(seen);
  });

  it('keeps both times over several scans', () => {
    expect(updateObservation(orphan, true, [entry], at)).toMatchObject({
      since: early,
      unusedSince: early,
      lastSeenAt: late,
    });
  });

  it('is unused since the first scan after an objection', () => {
    const used = updateObservation(orphan, false, [entry], at);
    expect(used).toEqual({ machine: 'a', resources: expect.any(String), since: early });
    expect(updateObservation(orphan, true, [{ ...used, message: '' }], at)).toMatchObject({
      since: early,
      unusedSince: late,
    });
  });

  it.each([
    ['the last scan is more than an hour old', '2026-11-21T19:59:00Z'],
    ['the clock was set back', '2026-11-21T21:10:00Z'],
  ])('is unused since this scan if %s', (_, lastSeenAt) => {
    expect(updateObservation(orphan, true, [{ ...entry, lastSeenAt }], at)).toMatchObject({ unusedSince: late });
  });

  it('takes nothing from the entry of another orphan', () => {
    expect(updateObservation(orphan, true, [{ ...entry, machine: 'b' }], at)).toMatchObject({
      since: late,
      unusedSince: late,
    });
  });
});

describe('the list of orphans', () => {
  it('contains the oldest fifty, so that a new orphan never displaces a known one', () => {
    const entries = Array.from({ length: 60 }, (_, i) => ({
      ...entry,
      machine: `m-${i}`,
      since: i < 10 ? late : early,
    }));
    const list = selectListedOrphans(entries);
    expect(list).toHaveLength(50);
    expect(list.every(({ since }) => since === early)).toBe(true);
    expect(selectListedOrphans([...entries].reverse())).toEqual(list);
  });
});
