import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BackupPart, backupKey, formatBackupTime } from './backup-keys.ts';
import { planRetention } from './retention.ts';
import { groupBackups, isComplete } from './stored-backups.ts';

const owner = { installation: 'i', namespace: 'shop', name: 'prod', uid: 'u' };
const all: readonly BackupPart[] = ['etcd', 'secrets', 'objects', 'manifest'];
const timeOf = (day: number): string => formatBackupTime(new Date(Date.UTC(2026, 0, 1 + day)));
const backup = (day: number, parts: readonly BackupPart[] = all) =>
  parts.map((part) => ({ key: backupKey('p', owner, timeOf(day), part), bytes: 1 }));
const plan = (objects: ReturnType<typeof backup>, keep: number) => planRetention(groupBackups('p', objects), keep);
const keysOf = (objects: ReturnType<typeof backup>) => objects.map(({ key }) => key);

describe('D52: retention', () => {
  it('deletes the oldest complete backups, the manifest first', () => {
    const objects = [0, 1, 2, 3].flatMap((day) => backup(day));
    expect(plan(objects, 3)).toEqual(keysOf(backup(0, ['manifest', 'etcd', 'secrets', 'objects'])));
    expect(plan(objects, 4)).toEqual([]);
  });

  it('does not count what is not complete, and deletes it once a newer one is complete', () => {
    const objects = [...backup(0), ...backup(1, ['etcd', 'secrets']), ...backup(2)];
    expect(plan(objects, 2)).toEqual(keysOf(backup(1, ['etcd', 'secrets'])));
    expect(plan([...backup(0), ...backup(1, ['secrets'])], 1)).toEqual([]);
  });

  it('leaves everything that it did not name', () => {
    const foreign = [
      'p/i/shop/prod/u/notes.txt',
      'p/i/shop/prod/u/20260101T000000Z.etcd',
      'p/other/20260101T000000Z.json',
    ];
    expect(
      groupBackups(
        'p',
        foreign.map((key) => ({ key, bytes: 1 })),
      ),
    ).toEqual([]);
  });

  it('never deletes the last complete backup, and never a newer one in place of an older', () => {
    const anyParts = fc.subarray([...all]);
    fc.assert(
      fc.property(fc.array(anyParts, { maxLength: 12 }), fc.integer({ min: 0, max: 5 }), (days, keep) => {
        const objects = days.flatMap((parts, day) => backup(day, parts));
        const deleted = new Set(plan(objects, keep));
        const before = groupBackups('p', objects).filter(isComplete);
        const after = groupBackups(
          'p',
          objects.filter(({ key }) => !deleted.has(key)),
        );
        const left = after.filter(isComplete).map(({ time }) => time);
        expect(left).toEqual(before.map(({ time }) => time).slice(-Math.max(1, keep)));
        // An interrupted deletion is continued by the next one.
        expect(planRetention(after, keep)).toEqual([]);
      }),
    );
  });
});
