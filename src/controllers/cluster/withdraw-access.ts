import { labels, managedByLabels } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../kube/core-types.ts';
import { KubeError } from '../../kube/errors.ts';
import { objectKeyOf, type ResourceType } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { approvalsOf } from '../machine/repair/approvals.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';

/** The approval to release a cluster that does not answer. */
export const accessNotRemoved = 'AccessNotRemoved';

/** Bindings first: what is left after a failure grants nothing. */
const grantedKinds: readonly ResourceType[] = [RoleBinding, ClusterRoleBinding, Role, ClusterRole, ServiceAccount];

/**
 * Removes from the cluster of others what the provider has made in it: the accounts and roles of all AccessRequests, and
 * the binding of the command kubeconfig. Namespaces stay. Returns why that is not possible now, as a sentence.
 */
export async function withdrawAccess(
  services: Services,
  { ref, cluster, secrets, secretsProblem }: Pick<ClusterView, 'ref' | 'cluster' | 'secrets' | 'secretsProblem'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (approvalsOf(cluster).approved.includes(accessNotRemoved)) return undefined;
  if (secretsProblem) return secretsProblem.message;
  if (secrets?.endpoint === undefined) return undefined;
  try {
    const client = await services.targets.client(ref, secrets.endpoint);
    for (const type of grantedKinds)
      await removeLabelled(client, type, `${labels.provider}=${services.provider},${labels.access}`, signal);
    const ofCommands = Object.entries(managedByLabels).map(([key, value]) => `${key}=${value}`);
    await removeLabelled(client, ClusterRoleBinding, ofCommands.join(), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError) && !(error instanceof ProviderError && error.retry !== 'bug')) throw error;
    return error.message;
  }
}

async function removeLabelled(
  client: KubeClient,
  type: ResourceType,
  labelSelector: string,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await client.list(type, { labelSelector }, signal);
  for (const object of items) {
    const { uid } = object.metadata;
    await client.remove(type, objectKeyOf(object), uid ? { uid } : {}, signal);
  }
}
