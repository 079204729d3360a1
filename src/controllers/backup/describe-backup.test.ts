import { expect, it } from 'vitest';
import type { BackupRecord } from './backup-record.ts';
import { describeBackup } from './describe-backup.ts';

const now = new Date('2026-11-21T03:00:00Z');
const due = new Date('2026-11-22T02:30:00Z');
const lastSuccess = new Date('2026-11-21T02:30:00Z');

it.each<[string, BackupRecord, Date | undefined, object]>([
  [
    'True after a success',
    { failures: 0, lastSuccess, key: 'a.etcd.age' },
    due,
    {
      status: 'True',
      reason: 'AsExpected',
      message: 'The last backup is that of 2026-11-21T02:30:00Z: a.etcd.age. The next is due at 2026-11-22T02:30:00Z.',
    },
  ],
  [
    'Unknown before the first one',
    { failures: 0 },
    due,
    {
      status: 'Unknown',
      reason: 'BackupPending',
      message: 'There is no backup yet. The next is due at 2026-11-22T02:30:00Z.',
    },
  ],
  [
    'False after a failure, which says what is left and what follows',
    { failures: 2, lastSuccess, lastAttempt: now, message: 'It failed.' },
    due,
    {
      status: 'False',
      reason: 'BackupFailed',
      message:
        'It failed. The last backup is that of 2026-11-21T02:30:00Z. The next attempt is at 2026-11-21T03:02:00Z.',
    },
  ],
  [
    'False if one is due for long',
    { failures: 0, lastSuccess: new Date('2026-11-19T02:30:00Z') },
    new Date('2026-11-20T02:30:00Z'),
    {
      status: 'False',
      reason: 'BackupOverdue',
      message: expect.stringMatching(/^A backup has been due since 2026-11-20T02/),
    },
  ],
])('BackedUp is %s', (_, record, next, condition) => {
  expect(describeBackup(record, next, now)).toEqual({ type: 'BackedUp', ...condition });
});
