import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BackupRecord } from './backup-record.ts';
import { type BackupSituation, decideBackup, findDueTime, spreadOf } from './decide-backup.ts';

const at = (text: string): Date => new Date(`2026-11-${text}Z`);
const none: BackupRecord = { failures: 0 };
const situation = (more: Partial<BackupSituation>): BackupSituation => ({
  schedule: { schedule: '30 2 * * *', timeZone: 'UTC' },
  record: none,
  createdAt: at('20T12:00:00'),
  spreadSeconds: 100,
  isRequested: false,
  now: at('20T13:00:00'),
  ...more,
});
const decide = (more: Partial<BackupSituation>) => decideBackup(situation(more));

describe('D49: a backup', () => {
  it('is due at the first time of the schedule after the Cluster was created, and the spread', () => {
    const due = at('21T02:31:40');
    expect(decide({})).toEqual({ kind: 'wait', until: due });
    expect(decide({ now: due })).toEqual({ kind: 'take', since: due });
  });

  it('is due at the next time after the last one', () => {
    const lastSuccess = at('21T02:31:40');
    expect(decide({ record: { failures: 0, lastSuccess }, now: at('21T02:32:00') })).toEqual({
      kind: 'wait',
      until: at('22T02:31:40'),
    });
  });

  it('that was missed several times is taken once', () => {
    const record = { failures: 0, lastSuccess: at('21T02:31:40') };
    const now = at('25T18:00:00');
    expect(decide({ record, now })).toEqual({ kind: 'take', since: at('22T02:31:40') });
    expect(decide({ record: { failures: 0, lastSuccess: now }, now })).toEqual({
      kind: 'wait',
      until: at('26T02:31:40'),
    });
  });

  it('is tried again after a failure, in intervals that grow to an hour', () => {
    const lastAttempt = at('21T02:31:40');
    const failed = (failures: number) => decide({ record: { failures, lastAttempt }, now: at('21T02:32:00') });
    expect(failed(1)).toEqual({ kind: 'wait', until: at('21T02:32:40') });
    expect(failed(3)).toEqual({ kind: 'wait', until: at('21T02:35:40') });
    expect(failed(40)).toEqual({ kind: 'wait', until: at('21T03:31:40') });
    const now = at('21T02:32:40');
    expect(decide({ record: { failures: 1, lastAttempt }, now })).toEqual({ kind: 'take', since: at('21T02:31:40') });
  });

  it('that a user asks for is taken at once, also after a failure', () => {
    const now = at('21T02:31:41');
    const record = { failures: 5, lastAttempt: at('21T02:31:40') };
    expect(decide({ record, now, isRequested: true })).toEqual({ kind: 'take', since: now });
  });

  it('follows the clock of its time zone', () => {
    const schedule = { schedule: '30 2 * * *', timeZone: 'America/New_York' };
    expect(findDueTime(situation({ schedule, spreadSeconds: 0 }))).toEqual(at('21T07:30:00'));
  });

  it('of a schedule that is denser than the spread is taken at each of its times', () => {
    const schedule = { schedule: '* * * * *', timeZone: 'UTC' };
    const lastSuccess = at('21T02:31:40');
    expect(decide({ schedule, record: { failures: 0, lastSuccess } })).toEqual({
      kind: 'wait',
      until: at('21T02:32:40'),
    });
  });

  it('is never due again right after it was taken, and always within the next interval', () => {
    const anyTime = fc.date({ min: at('01T00:00:00'), max: at('30T00:00:00'), noInvalidDate: true });
    fc.assert(
      fc.property(anyTime, fc.integer({ min: 0, max: 299 }), (time, spreadSeconds) => {
        const lastSuccess = new Date(Math.floor(time.getTime() / 1000) * 1000);
        const schedule = { schedule: '0 * * * *', timeZone: 'UTC' };
        const due = findDueTime(situation({ schedule, spreadSeconds, record: { failures: 0, lastSuccess } }));
        const wait = ((due?.getTime() ?? 0) - lastSuccess.getTime()) / 1000;
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(3600);
      }),
    );
  });
});

it('clusters with one schedule are spread over five minutes, each always by the same', () => {
  const spreads = Array.from({ length: 200 }, (_, i) => spreadOf(`cluster-${i}`));
  expect(spreads).toEqual(Array.from({ length: 200 }, (_, i) => spreadOf(`cluster-${i}`)));
  expect(Math.max(...spreads)).toBeLessThan(300);
  for (const minute of [0, 1, 2, 3, 4])
    expect(spreads.filter((seconds) => Math.floor(seconds / 60) === minute).length).toBeGreaterThan(20);
});
