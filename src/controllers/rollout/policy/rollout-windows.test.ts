import { describe, expect, it } from 'vitest';
import type { RolloutWindow } from '../../../api/schema/rollout-schema.ts';
import { findNextWindow, isTimeZone } from './rollout-windows.ts';

const berlin = 'Europe/Berlin';
const window = (from: string, to: string, more: Partial<RolloutWindow> = {}): RolloutWindow => ({
  ...{ days: [], from, to, timeZone: 'UTC' },
  ...more,
});
const at = (windows: readonly RolloutWindow[], now: string) => {
  const state = findNextWindow(windows, new Date(now));
  return state.kind === 'open' ? 'open' : (state.opensAt?.toISOString().replace(':00.000Z', 'Z') ?? 'never');
};

const nights = [window('22:00', '04:00')];
const saturday = [window('23:00', '02:00', { days: ['Saturday'] })];
const inBerlin = [window('22:00', '23:00', { timeZone: berlin })];
const skipped = [window('02:15', '02:45', { timeZone: berlin })];
const twice = [window('02:30', '03:30', { timeZone: berlin })];

describe('D30: the windows of a rollout', () => {
  it.each<[string, readonly RolloutWindow[], string, string]>([
    ['without any, changes may always begin', [], '2026-11-25T12:00Z', 'open'],
    ['the beginning belongs to it', nights, '2026-11-25T22:00Z', 'open'],
    ['it goes over midnight', nights, '2026-11-26T03:59Z', 'open'],
    ['its end does not belong to it', nights, '2026-11-26T04:00Z', '2026-11-26T22:00Z'],
    ['a minute before', nights, '2026-11-25T21:59Z', '2026-11-25T22:00Z'],
    ['one that ends when it begins takes a day', [window('05:00', '05:00')], '2026-11-25T04:59Z', 'open'],
    [
      'the same, on one day',
      [window('05:00', '05:00', { days: ['Monday'] })],
      '2026-11-24T05:00Z',
      '2026-11-30T05:00Z',
    ],
    ['a day is that of the beginning', saturday, '2026-11-29T01:00Z', 'open'],
    ['the next of a weekly one', saturday, '2026-11-29T02:00Z', '2026-12-05T23:00Z'],
    ['the night before it is not its own', saturday, '2026-11-28T01:00Z', '2026-11-28T23:00Z'],
    ['the earliest of several', [...saturday, ...nights], '2026-11-28T12:00Z', '2026-11-28T22:00Z'],
    ['in winter', inBerlin, '2026-12-01T12:00Z', '2026-12-01T21:00Z'],
    ['in summer', inBerlin, '2026-07-01T12:00Z', '2026-07-01T20:00Z'],
    ['over the change to summer time', inBerlin, '2026-03-28T22:30Z', '2026-03-29T20:00Z'],
    ['over the change to winter time', inBerlin, '2026-10-24T21:30Z', '2026-10-25T21:00Z'],
    ['a skipped hour is not lost', skipped, '2026-03-28T12:00Z', '2026-03-29T01:15Z'],
    ['a skipped hour keeps its length', skipped, '2026-03-29T01:44Z', 'open'],
    ['a skipped hour ends', skipped, '2026-03-29T01:45Z', '2026-03-30T00:15Z'],
    ['an hour that comes twice begins with the first', twice, '2026-10-25T00:29Z', '2026-10-25T00:30Z'],
    ['an hour that comes twice is open in between', twice, '2026-10-25T01:20Z', 'open'],
    [
      'the day of another zone',
      [window('01:00', '02:00', { days: ['Monday'], timeZone: 'Pacific/Auckland' })],
      '2026-11-29T11:00Z',
      '2026-11-29T12:00Z',
    ],
    [
      'a zone that does not exist has no windows',
      [window('00:00', '23:59', { timeZone: 'Mars/Olympus' })],
      '2026-11-25T12:00Z',
      'never',
    ],
  ])('%s', (_, windows, now, expected) => {
    expect(at(windows, now)).toBe(expected);
  });

  it('knows the zones of the IANA database', () => {
    expect([berlin, 'UTC', 'America/Argentina/Buenos_Aires'].every(isTimeZone)).toBe(true);
    expect(isTimeZone('Europe/Berln')).toBe(false);
  });
});
