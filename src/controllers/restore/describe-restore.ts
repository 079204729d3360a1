import { type ConditionState, conditionFalse } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import type { ProviderError } from '../../lib/errors.ts';
import { formatTime } from '../../lib/text.ts';
import type { EtcdCondition } from './decide-restore.ts';

/** What a restore would do. */
export interface PlannedRestore {
  readonly key: string;
  readonly time: Date;
  /** The control planes whose data are wiped. */
  readonly controlPlanes: readonly string[];
  readonly etcd: EtcdCondition;
}

export const describeRestoreRejection = ({ message }: ProviderError): ConditionState =>
  conditionFalse('EtcdRestored', 'RestoreRejected', `Etcd is not restored. ${message}`);

/** Reading a large backup takes minutes. */
export const describeVerification = (key: string): ConditionState =>
  conditionFalse('EtcdRestored', 'RestoreWaiting', `Etcd is not restored yet: ${key} is being read and verified.`);

/** The condition `EtcdRestored` while a restore waits for its approval. */
export function describePlannedRestore({ key, time, controlPlanes, etcd }: PlannedRestore): ConditionState {
  const effect = `Everything that was written to etcd after ${formatTime(time)} is lost, and so is all in /var of ${controlPlanes.join(', ')}, which restart: images, logs, and volumes on their system disks. Other volumes are no part of it: their content stays as it is.`;
  const plan = `Etcd would be restored from ${key}, the backup of ${formatTime(time)}, which is whole and can be decrypted. ${effect}`;
  const approve = (reason: string): string => `set the annotation ${annotations.approve}: ${reason} on the Cluster`;
  if (etcd.kind === 'unknown') {
    const message = `Etcd is not restored while its state cannot be told. ${etcd.message} ${plan}`;
    return conditionFalse('EtcdRestored', 'RestoreWaiting', message);
  }
  if (etcd.kind === 'quorum') {
    const message = `ETCD WORKS: ${etcd.machine} follows a leader, and nothing has to be restored. To repair single nodes is better: it loses nothing. ${plan} To destroy what etcd holds now anyway, ${approve('EtcdHasQuorum')}.`;
    return conditionFalse('EtcdRestored', 'EtcdHasQuorum', message);
  }
  const message = `Etcd has lost its quorum. ${plan} To do that, ${approve('RestoreNotApproved')}.`;
  return conditionFalse('EtcdRestored', 'RestoreNotApproved', message);
}
