import { managedByLabels } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ClusterRoleBinding, type RoleBinding } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';

/** The group of the certificates with `--role reader`. No user of the cluster has it by default. */
export const readerGroup = 'cluster-provider-talos:readers';

const rbacGroup = 'rbac.authorization.k8s.io';
const desiredBinding: RoleBinding = {
  apiVersion: `${rbacGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'cluster-provider-talos-readers', labels: { ...managedByLabels } },
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'view' },
  subjects: [{ apiGroup: rbacGroup, kind: 'Group', name: readerGroup }],
};

/**
 * Creates the binding of {@link readerGroup} to the ClusterRole `view` in a cluster. An existing one with other rights
 * is not changed: somebody wanted it, and a certificate with those rights is not what the user asks for.
 */
export async function ensureReaderBinding(target: KubeClient, signal: AbortSignal): Promise<void> {
  const { name } = desiredBinding.metadata;
  const found = (await target.find(ClusterRoleBinding, { name }, signal)) ?? (await createBinding(target, signal));
  const { kind, name: role } = found.roleRef;
  if (kind === 'ClusterRole' && role === 'view' && found.subjects?.some(isReaderGroup)) return;
  throw new ProviderError(
    'OWNED_BY_OTHERS',
    `--role: ClusterRoleBinding ${name} of the cluster does not bind the group ${readerGroup} to the ClusterRole view. Delete it, or use --group with a group that the cluster knows.`,
  );
}

async function createBinding(target: KubeClient, signal: AbortSignal): Promise<RoleBinding> {
  try {
    return await target.create(ClusterRoleBinding, desiredBinding, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await target.get(ClusterRoleBinding, { name: desiredBinding.metadata.name }, signal);
  }
}

const isReaderGroup = ({ kind, name }: { kind: string; name: string }): boolean =>
  kind === 'Group' && name === readerGroup;
