import { type Condition, type ConditionState, type ConditionType, mergeConditions } from '../../api/conditions.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { isConflict } from '../../kube/errors.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { decideConditionEvents, recordConditionEvents } from './condition-events.ts';
import { patchStatusIfExists } from './objects.ts';
import type { Services } from './services.ts';

/** A part of the status of a Cluster that another controller writes than that of Clusters. */
export interface ClusterReportKind {
  readonly condition: ConditionType;
  /** Field of `status.providerStatus`. */
  readonly field: string;
  /** Reasons of Events that its controller records itself; `all`: it records every change. */
  readonly recordedReasons: readonly string[] | 'all';
}

export const clusterReports = {
  backup: { condition: 'BackedUp', field: 'backup', recordedReasons: ['BackupFailed'] },
  restore: { condition: 'EtcdRestored', field: 'restore', recordedReasons: ['EtcdRestored'] },
  publish: { condition: 'Published', field: 'published', recordedReasons: 'all' },
} as const satisfies Record<string, ClusterReportKind>;

/** The content of such a part. Undefined: nothing is said. */
export interface ClusterReport {
  readonly condition: ConditionState | undefined;
  readonly record: object | undefined;
}

const attempts = 5;

/**
 * Writes the report to the status of a Cluster, whose other fields are those of another controller: each write is based on
 * the newest version, and fails if that has changed meanwhile.
 */
export async function writeClusterReport(
  services: Pick<Services, 'kube' | 'clock' | 'events'>,
  cluster: Cluster,
  kind: ClusterReportKind,
  report: ClusterReport,
  signal: AbortSignal,
): Promise<void> {
  if (!differs(cluster, kind, report)) return;
  for (let attempt = 1; ; attempt += 1) {
    const latest = await services.kube.find(Cluster, objectKeyOf(cluster), signal);
    // Without a status the Cluster controller has not begun yet.
    if (!latest?.status || latest.metadata.uid !== cluster.metadata.uid || !differs(latest, kind, report)) return;
    const status = withReport(services, latest, kind, report);
    try {
      await patchStatusIfExists(services.kube, Cluster, latest, status, signal, { locked: true });
      if (kind.recordedReasons === 'all') return;
      const changes = decideConditionEvents([kind.condition], latest.status.conditions, status.conditions);
      recordConditionEvents(services.events, latest, changes, kind.recordedReasons);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error;
    }
  }
}

function withReport(
  { clock }: Pick<Services, 'clock'>,
  { metadata, status = { observedGeneration: 0, phase: '' } }: Cluster,
  kind: ClusterReportKind,
  { condition, record }: ClusterReport,
): NonNullable<Cluster['status']> {
  const { [kind.field]: _, ...others } = status.providerStatus ?? {};
  return {
    ...status,
    conditions: mergeConditions(status.conditions ?? [], condition ? [condition] : [], {
      generation: metadata.generation ?? 0,
      now: clock.now(),
      ...(condition ? {} : { drop: [kind.condition] }),
    }),
    providerStatus: { ...others, ...(record ? { [kind.field]: record } : {}) },
  };
}

function differs({ status }: Cluster, kind: ClusterReportKind, { condition, record }: ClusterReport): boolean {
  const known = status?.conditions?.find(({ type }) => type === kind.condition);
  const part = (one: Condition | ConditionState | undefined) => one && [one.status, one.reason, one.message ?? ''];
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const written = status?.providerStatus?.[kind.field];
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
export const hasOtherClusterReport = (
  { condition, field }: ClusterReportKind,
  { kind, object, before }: ObjectChange<Cluster>,
): boolean => {
  const reportOf = (cluster: Cluster | undefined): string =>
    JSON.stringify([
      cluster?.status?.conditions?.find(({ type }) => type === condition),
      cluster?.status?.providerStatus?.[field],
    ]);
  return kind === 'updated' && reportOf(object) !== reportOf(before);
};

const kinds: readonly ClusterReportKind[] = Object.values(clusterReports);

/** Whether a condition of a Cluster is that of another controller. */
export const isReportedElsewhere = ({ type }: Condition): boolean => kinds.some(({ condition }) => condition === type);

/** The reports as they were written last, for the other writer of the status. */
export function keepClusterReports(newest: Cluster): {
  readonly conditions: Condition[];
  readonly providerStatus: Record<string, unknown>;
} {
  const { conditions = [], providerStatus = {} } = newest.status ?? {};
  const records = kinds.flatMap(({ field }) =>
    providerStatus[field] === undefined ? [] : [[field, providerStatus[field]] as const],
  );
  return { conditions: conditions.filter(isReportedElsewhere), providerStatus: Object.fromEntries(records) };
}
