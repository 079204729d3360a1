import type { Cluster } from '../../api/openmcp/types.ts';
import type { Secret } from '../../kube/core-types.ts';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';

/** A restore that has begun. */
export interface RunningRestore {
  readonly cluster: Cluster;
  /** The Secret of the cluster, with the record. */
  readonly secret: Secret;
  readonly record: RestoreRecord;
}
