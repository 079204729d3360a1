import { isSameCluster } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import { clusterId, clusterSecretsName, group, isProviderFinalizer, labels } from '../../api/names.ts';
import { Cluster, type NamespacedRef } from '../../api/openmcp/types.ts';
import { clusterIdentityOf, clusterOfMachine } from '../../controllers/cluster/identity.ts';
import type { ClusterSecrets } from '../../controllers/shared/secrets/cluster-secrets.ts';
import { assessClusterSecrets, requireClusterSecrets } from '../../controllers/shared/secrets/cluster-secrets-state.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret } from '../../kube/core-types.ts';
import { isForbidden, KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { AccessSession } from './access-session.ts';

/** A cluster whose secrets the user may read. */
export interface ClusterAccess {
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
  readonly secrets: ClusterSecrets;
}

/** The file with the rights that these commands need, and the name of its roles. */
export const accessRoles = { file: 'config/rbac/access.yaml', name: 'cluster-provider-talos-access' } as const;

/** The part of a session that only reads. */
type PlatformReader = Pick<AccessSession, 'namespace' | 'signal'> & {
  readonly kube: Pick<KubeClient, 'find' | 'list'>;
};

/** Reads a cluster and its secrets. Throws a ProviderError that names the flag or object and the remedy. */
export async function findClusterAccess(session: PlatformReader, ref: NamespacedRef): Promise<ClusterAccess> {
  const { kube, namespace, signal } = session;
  const cluster = await whatIsAllowed(kube.find(Cluster, ref, signal));
  if (!cluster)
    throw new ProviderError(
      'CLUSTER_MISSING',
      `--cluster: there is no Cluster ${ref.name} in namespace ${ref.namespace}. List them with kubectl get clusters -A.`,
    );
  requireFinalizer(cluster);
  const listed = await whatIsAllowed(
    kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(ref)}` }, signal),
  );
  const identity = clusterIdentityOf(cluster);
  const machines = listed.items.filter((machine) => isSameCluster(clusterOfMachine(machine), identity));
  requireNamespace(machines, namespace);
  const secretRef = `${namespace}/${clusterSecretsName(ref)}`;
  const object = await whatIsAllowed(
    kube.find(Secret, { namespace, name: clusterSecretsName(ref) }, signal),
    `in namespace ${namespace}`,
  );
  const state = assessClusterSecrets({ object, secretRef, cluster, machines });
  if (state.kind === 'none')
    throw new ProviderError(
      'CLUSTER_NOT_READY',
      `There is no Secret ${secretRef} yet. Wait until the condition SecretsReady of Cluster ${ref.namespace}/${ref.name} is True. If the provider runs in another namespace, set POD_NAMESPACE to it.`,
    );
  return { cluster, machines, secrets: requireClusterSecrets(state, secretRef) };
}

/** A Talos provider sets its finalizer before it does anything else for a Cluster. */
function requireFinalizer({ metadata, spec }: Cluster): void {
  const prefix = `${group}/cluster-`;
  if (metadata.finalizers?.some((name) => name.startsWith(prefix) && isProviderFinalizer(name))) return;
  throw new ProviderError(
    'CLUSTER_MISSING',
    `--cluster: Cluster ${metadata.namespace}/${metadata.name} with the profile ${spec.profile} has no finalizer ${prefix}*. Name a Cluster with a profile of a Talos provider. If this is a new one, wait until the provider has seen it.`,
  );
}

/** The Machines name the namespace of their provider, in which the secrets are as well. */
function requireNamespace(machines: readonly Machine[], namespace: string): void {
  const [first] = machines;
  if (!first || machines.some(({ spec }) => spec.providerRef.namespace === namespace)) return;
  const other = first.spec.providerRef.namespace;
  throw new ProviderError(
    'CONFIG_INVALID',
    `POD_NAMESPACE is ${namespace}, but Machine ${first.metadata.name} belongs to the provider in namespace ${other}. Set POD_NAMESPACE to ${other}.`,
  );
}

/** The result of a request. A rejection by RBAC becomes an error that says which role allows it. */
export async function whatIsAllowed<T>(request: Promise<T>, where?: string): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof KubeError && isForbidden(error))) throw error;
    const kind = where === undefined ? 'ClusterRole' : 'Role';
    throw new ProviderError(
      'KUBE_PERMISSION_DENIED',
      `${error.message}. Bind the ${kind} ${accessRoles.name} of ${accessRoles.file}${where === undefined ? '' : ` ${where}`} to your user.`,
      { cause: error },
    );
  }
}
