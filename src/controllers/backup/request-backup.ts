import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import type { Services } from '../shared/services.ts';

/** Asks for a backup in the way of users, so that the request survives this process. Returns the Cluster with it. */
export async function requestBackup(
  { kube }: Pick<Services, 'kube'>,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Cluster> {
  const patch = { metadata: { annotations: { [annotations.takeBackup]: 'now' } } };
  const { metadata } = await kube.merge(Cluster, objectKeyOf(cluster), patch, {}, signal);
  return { ...cluster, metadata };
}
