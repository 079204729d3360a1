import { type Condition, type ConditionState, mergeConditions } from '../../api/conditions.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { isConflict } from '../../kube/errors.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { patchStatusIfExists } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { backupRecordKey } from './backup-record.ts';

/** What a Cluster says of its backups. Undefined: nothing is said. */
export interface BackupReport {
  readonly condition: ConditionState | undefined;
  readonly record: object | undefined;
}

const attempts = 5;

/**
 * Writes the report to the status of a Cluster, whose other fields are those of another controller: each write is based on
 * the newest version, and fails if that has changed meanwhile.
 */
export async function writeBackupReport(
  services: Pick<Services, 'kube' | 'clock'>,
  cluster: Cluster,
  report: BackupReport,
  signal: AbortSignal,
): Promise<void> {
  if (!differs(cluster, report)) return;
  for (let attempt = 1; ; attempt += 1) {
    const latest = await services.kube.find(Cluster, objectKeyOf(cluster), signal);
    // Without a status the Cluster controller has not begun yet.
    if (!latest?.status || latest.metadata.uid !== cluster.metadata.uid || !differs(latest, report)) return;
    const status = withReport(services, latest, latest.status, report);
    try {
      await patchStatusIfExists(services.kube, Cluster, latest, status, signal, { locked: true });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error;
    }
  }
}

function withReport(
  { clock }: Pick<Services, 'clock'>,
  { metadata }: Cluster,
  status: NonNullable<Cluster['status']>,
  { condition, record }: BackupReport,
): NonNullable<Cluster['status']> {
  const { [backupRecordKey]: _, ...others } = status.providerStatus ?? {};
  return {
    ...status,
    conditions: mergeConditions(status.conditions ?? [], condition ? [condition] : [], {
      generation: metadata.generation ?? 0,
      now: clock.now(),
      ...(condition ? {} : { drop: ['BackedUp'] as const }),
    }),
    providerStatus: { ...others, ...(record ? { [backupRecordKey]: record } : {}) },
  };
}

function differs({ status }: Cluster, { condition, record }: BackupReport): boolean {
  const known = status?.conditions?.find(({ type }) => type === 'BackedUp');
  const part = (one: Condition | ConditionState | undefined) => one && [one.status, one.reason, one.message ?? ''];
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const written = status?.providerStatus?.[backupRecordKey];
  return !isSame(part(known), part(condition)) || !isSame(sorted(written), sorted(record));
}

/** The API server may return the fields in another order. */
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .filter(([, v]) => v !== undefined)
        .sort()
    : value;

/** Another writer of the status may have put back what it knew. */
export const hasOtherBackupReport = ({ kind, object, before }: ObjectChange<Cluster>): boolean => {
  const reportOf = (cluster: Cluster | undefined): string =>
    JSON.stringify([
      cluster?.status?.conditions?.find(({ type }) => type === 'BackedUp'),
      cluster?.status?.providerStatus?.[backupRecordKey],
    ]);
  return kind === 'updated' && reportOf(object) !== reportOf(before);
};

/** The report as it was written last, for the other writer of the status. */
export function keepBackupReport(newest: Cluster): {
  readonly conditions: Condition[];
  readonly providerStatus: Record<string, unknown>;
} {
  const record = newest.status?.providerStatus?.[backupRecordKey];
  return {
    conditions: (newest.status?.conditions ?? []).filter(({ type }) => type === 'BackedUp'),
    providerStatus: record === undefined ? {} : { [backupRecordKey]: record },
  };
}
