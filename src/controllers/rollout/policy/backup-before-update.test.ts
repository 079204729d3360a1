import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { ChangeClass } from '../../../engine/change-class.ts';
import { findMissingBackup } from './backup-before-update.ts';

const outdated = '2026-11-20T12:00:00Z';

function machine(role: 'controlplane' | 'worker', kind: ChangeClass): Machine {
  const condition = { type: 'UpToDate', status: 'False', reason: 'UpdatePending', lastTransitionTime: outdated };
  return {
    metadata: { name: role },
    spec: { role },
    status: { pending: { revision: 'r', class: kind, fields: [] }, conditions: [condition] },
  } as never;
}

interface Backups {
  readonly lastSuccess?: string;
  readonly failure?: string;
  /** Why `BackedUp` is False. */
  readonly reason?: string;
  readonly notes?: Record<string, string>;
}

const cluster = ({ lastSuccess, failure, reason = 'BackupFailed', notes = {} }: Backups): Cluster =>
  ({
    metadata: { name: 'one', annotations: notes },
    status: {
      providerStatus: { backup: { failures: failure ? 1 : 0, ...(lastSuccess && { lastSuccess }) } },
      conditions: failure ? [{ type: 'BackedUp', status: 'False', reason, message: failure }] : [],
    },
  }) as never;

function find(backups: Backups, next = machine('controlplane', 'os'), hasBackups = true) {
  const machines = [machine('controlplane', 'os'), machine('worker', 'os')];
  return findMissingBackup({
    ...{ cluster: cluster(backups), config: undefined, hasBackups, machines },
    candidates: [next],
  });
}

describe('a backup before an update', () => {
  it('is needed before a control plane restarts and before Kubernetes is upgraded, where there are backups', () => {
    expect(find({})).toEqual({ message: 'A backup of etcd is taken first.', isRequested: false });
    expect(find({}, machine('worker', 'kubernetes'))?.isRequested).toBe(false);
    expect(find({}, machine('controlplane', 'live'))).toBeUndefined();
    expect(find({}, machine('worker', 'os'))).toBeUndefined();
    expect(find({}, machine('controlplane', 'os'), false)).toBeUndefined();
  });

  it('may be an hour older than the first difference', () => {
    expect(find({ lastSuccess: '2026-11-20T10:59:59Z' })).toBeDefined();
    expect(find({ lastSuccess: '2026-11-20T11:00:00Z' })).toBeUndefined();
    expect(find({ lastSuccess: '2026-11-20T13:00:00Z' })).toBeUndefined();
  });

  it('is asked for once, and holds the update up when it fails, until a user says now', () => {
    expect(find({ notes: { [annotations.takeBackup]: 'now' } })?.isRequested).toBe(true);
    const failed = find({ failure: 'The bucket is gone.' });
    expect(failed?.isRequested).toBe(true);
    expect(failed?.message).toMatch(/the last one failed: The bucket is gone\. .* set the annotation rollout: now/);
    const overdue = find({ failure: 'A backup has been due since noon.', reason: 'BackupOverdue' });
    expect(overdue?.message).toMatch(
      /^A backup of etcd comes first\. A backup has been due since noon\. To update without/,
    );
    expect(find({ failure: 'The bucket is gone.', notes: { [annotations.rollout]: 'now' } })).toBeUndefined();
  });
});
