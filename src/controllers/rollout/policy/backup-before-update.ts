import { type Condition, findFalseCondition } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import { readBackupRecord } from '../../backup/backup-record.ts';
import { isBackupRequested } from '../../backup/request-backup.ts';
import { readRolloutRequest } from './rollout-hold.ts';

/** A backup may be this much older than the first difference of a rollout. */
const maxAgeSeconds = 3600;

export interface UpdateToSecure {
  readonly cluster: Cluster;
  readonly config: ProviderConfig | undefined;
  /** The cluster has scheduled backups. */
  readonly hasBackups: boolean;
  readonly machines: readonly Machine[];
  /** The Machines of which one is to be changed now. */
  readonly candidates: readonly Machine[];
}

/** A backup that an update waits for. `isRequested`: it was asked for already. */
export interface MissingBackup {
  readonly message: string;
  readonly isRequested: boolean;
}

/**
 * The backup that has to be taken before the next Machine is changed. Changes that restart a control plane or upgrade
 * Kubernetes wait for one that is hardly older than the first difference of the rollout, unless a user says `now`.
 */
export function findMissingBackup(update: UpdateToSecure): MissingBackup | undefined {
  const { cluster, config, hasBackups, machines, candidates } = update;
  if (!hasBackups || !candidates.some(endangersEtcd)) return undefined;
  if ([cluster, config].some((object) => readRolloutRequest(object) === 'now')) return undefined;
  const since = Math.min(...machines.map(outdatedSince));
  const { lastSuccess } = readBackupRecord(cluster);
  if (lastSuccess && lastSuccess.getTime() >= since - maxAgeSeconds * 1000) return undefined;
  const problem = findFalseCondition(cluster.status?.conditions, 'BackedUp');
  if (problem) return { message: describeProblem(problem), isRequested: true };
  return { message: 'A backup of etcd is taken first.', isRequested: isBackupRequested(cluster) };
}

function describeProblem({ reason, message }: Condition): string {
  const problem = reason === 'BackupFailed' ? `, and the last one failed: ${message}` : `. ${message}`;
  return `A backup of etcd comes first${problem} To update without one, set the annotation rollout: now.`;
}

function endangersEtcd({ spec, status }: Machine): boolean {
  const kind = status?.pending?.class;
  return kind === 'kubernetes' || (spec.role === 'controlplane' && kind !== 'live');
}

const outdatedSince = ({ status }: Machine): number => {
  const outdated = findFalseCondition(status?.conditions, 'UpToDate');
  return outdated ? Date.parse(outdated.lastTransitionTime) : Number.POSITIVE_INFINITY;
};
