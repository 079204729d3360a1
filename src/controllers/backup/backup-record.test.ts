import { expect, it } from 'vitest';
import type { Cluster } from '../../api/openmcp/types.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SnapshotError } from '../../talos/etcd-snapshot/snapshot-error.ts';
import {
  addFailedMachine,
  BackupMemory,
  backupRecordKey,
  readBackupRecord,
  recordSuccess,
  renderBackupRecord,
} from './backup-record.ts';

const clusterWith = (backup: unknown): Cluster =>
  ({
    metadata: { name: 'a', uid: 'u' },
    status: { providerStatus: { [backupRecordKey]: backup } },
  }) as unknown as Cluster;
const record = (day: number, failures = 0) => ({ failures, lastAttempt: new Date(Date.UTC(2026, 10, day)) });

it('a record is read from the status as it was written', () => {
  const full = {
    ...record(3),
    lastSuccess: new Date(Date.UTC(2026, 10, 3)),
    key: 'k',
    bytes: 10,
    seconds: 2,
    failedMachines: ['a'],
  };
  expect(readBackupRecord(clusterWith(renderBackupRecord(full)))).toEqual(full);
  expect(renderBackupRecord({ failures: 0 })).toBeUndefined();
});

it.each([undefined, 'text', { lastAttempt: 'yesterday' }, { failures: -1 }])('a record %j counts as none', (backup) => {
  expect(readBackupRecord(clusterWith(backup))).toEqual({ failures: 0 });
});

const now = new Date(Date.UTC(2026, 10, 6));

it('the newer one of memory and status counts', () => {
  const memory = new BackupMemory();
  const older = clusterWith(renderBackupRecord(record(3)));
  expect(memory.recordOf(older, now)).toEqual(record(3));
  memory.remember(older, record(4, 1));
  expect(memory.recordOf(older, now)).toEqual(record(4, 1));
  expect(memory.recordOf(clusterWith(renderBackupRecord(record(5))), now)).toEqual(record(5));
});

it('times that are in the future count as the present, once: the clock was set back', () => {
  const memory = new BackupMemory();
  const ahead = { ...record(7, 1), lastSuccess: new Date(Date.UTC(2026, 10, 7)), key: 'k' };
  const found = clusterWith(renderBackupRecord(ahead));
  const corrected = { ...ahead, lastAttempt: now, lastSuccess: now };
  expect(memory.recordOf(found, now)).toEqual(corrected);
  const later = new Date(now.getTime() + 3_600_000);
  expect(memory.recordOf(clusterWith(renderBackupRecord(corrected)), later)).toEqual(corrected);
});

it('a backup whose time is in the future was taken when it was attempted', () => {
  const taken = { key: 'k', bytes: 10, seconds: 2 };
  const attempt = new Date('2026-11-06T10:00:00Z');
  const begun = new Date('2026-11-06T10:00:05Z');
  expect(recordSuccess({ ...taken, time: begun }, attempt)).toEqual({
    ...{ failures: 0, lastAttempt: attempt, lastSuccess: begun },
    ...taken,
  });
  expect(recordSuccess({ ...taken, time: new Date('2026-11-06T13:00:01Z') }, attempt).lastSuccess).toEqual(attempt);
});

it('the control planes that have failed are remembered until all of them have', () => {
  const fail = (machine: string) => new SnapshotError(machine, new ProviderError('TALOS_CALL_FAILED'));
  const failed = (error: unknown, ...failedMachines: string[]) =>
    ({ failures: 1, failedMachines, ...addFailedMachine({ failures: 1, failedMachines }, error) }).failedMachines;
  expect(failed(fail('a'))).toEqual(['a']);
  expect(failed(fail('b'), 'a')).toEqual(['a', 'b']);
  expect(failed(fail('a'), 'a', 'b')).toEqual(['a']);
  expect(failed(new ProviderError('S3_FAILED'), 'a')).toEqual(['a']);
});
