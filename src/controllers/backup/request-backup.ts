import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { annotateCluster } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';

/** Whether a user or a rollout has asked for a backup that is not taken yet. */
export const isBackupRequested = ({ metadata }: Cluster): boolean =>
  metadata.annotations?.[annotations.takeBackup] === 'now';

/** Asks for a backup in the way of users, so that the request survives this process. Returns the Cluster with it. */
export const requestBackup = (
  services: Pick<Services, 'kube'>,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Cluster> => annotateCluster(services, cluster, { [annotations.takeBackup]: 'now' }, signal);
