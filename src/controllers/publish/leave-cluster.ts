import { publicationId } from '../../api/names.ts';
import { explainFailure } from '../access-request/explain-failure.ts';
import type { TargetCluster } from '../access-request/find-target-cluster.ts';
import { openTargetConnection } from '../access-request/target-cluster/access-object-cache.ts';
import { revokeAccess } from '../access-request/target-cluster/ensure-access.ts';
import type { FormServices } from './act-on-form.ts';
import type { PublicationProblem } from './decide-form.ts';
import { leaveClusterSet } from './inventory/ensure-inventory-profile.ts';
import type { PublicationForm } from './publication.ts';

/**
 * Removes from a cluster what belongs to one form: its account, so that its tokens are of no use any more, and its membership.
 * Returns why that was not possible.
 */
export async function leaveCluster(
  services: FormServices,
  form: PublicationForm,
  target: TargetCluster,
  signal: AbortSignal,
): Promise<PublicationProblem | undefined> {
  try {
    await removeFromCluster(services, form, target, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const failure = explainFailure(error);
    if (!failure) throw error;
    return failure;
  }
}

async function removeFromCluster(
  services: FormServices,
  form: PublicationForm,
  { ref, server }: TargetCluster,
  signal: AbortSignal,
): Promise<void> {
  const { environment, provider } = services;
  const connection = await openTargetConnection(services, ref, server);
  const mark = { id: publicationId(environment, provider, ref, form), request: ref };
  await revokeAccess(connection, mark, signal);
  if (form === 'clusterProfile') await leaveClusterSet(connection.client, provider, signal);
}
