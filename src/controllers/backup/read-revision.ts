import { type Cluster, externalEndpointUrl } from '../../api/openmcp/types.ts';
import { Namespace } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { clusterIdentityOf } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';

/** The revision of etcd that the API server answers from; undefined if it does not answer: a backup does not need it. */
export async function readRevision(
  { targets }: Pick<Services, 'targets'>,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<number | undefined> {
  const url = externalEndpointUrl(cluster);
  if (url === undefined) return undefined;
  try {
    const client = await targets.client(clusterIdentityOf(cluster), url);
    const { resourceVersion } = await client.list(Namespace, {}, signal);
    return /^\d{1,15}$/.test(resourceVersion) ? Number(resourceVersion) : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof KubeError || error instanceof ProviderError) return undefined;
    throw error;
  }
}
