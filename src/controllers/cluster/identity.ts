import { z } from 'zod';
import { type ClusterIdentity, isSameCluster } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import type { ProviderInstance } from '../../api/names.ts';
import type { NodePool } from '../../api/node-pool.ts';
import type { Cluster } from '../../api/openmcp/types.ts';

/** Key in `status.providerStatus` of a Cluster that was imported. */
export const importedIdentityKey = 'imported';

/**
 * A Cluster that was imported keeps the identity that it had on the former platform cluster, which marks its machines.
 * The entry is in the status, which tenants may not write, and counts for one object only: a Cluster that is deleted and
 * created again has an identity of its own.
 */
const ImportedIdentity = z.object({
  /** UID on the former platform cluster. */
  uid: z.string().min(1).max(64),
  /** UID of the object that it was imported as. */
  importedAs: z.string(),
});
export type ImportedIdentity = z.infer<typeof ImportedIdentity>;

export function clusterIdentityOf({ metadata, status }: Cluster): ClusterIdentity {
  const { namespace = '', name, uid = '' } = metadata;
  const imported = ImportedIdentity.safeParse(status?.providerStatus?.[importedIdentityKey]).data;
  return { namespace, name, uid: imported?.importedAs === uid ? imported.uid : uid };
}

export const clusterOfMachine = ({ spec }: Pick<Machine | NodePool, 'spec'>): ClusterIdentity => ({
  namespace: spec.clusterRef.namespace,
  name: spec.clusterRef.name,
  uid: spec.clusterRef.uid,
});

/**
 * Whether this instance created a Machine or NodePool. Those of other instances are ignored, even if both claim the same
 * Cluster by mistake.
 */
export const isOwnMachine = (
  instance: ProviderInstance,
  { providerRef }: Pick<Machine['spec'], 'providerRef'>,
): boolean =>
  providerRef.name === instance.provider &&
  providerRef.environment === instance.environment &&
  providerRef.namespace === instance.namespace;

/** Whether a Machine or NodePool is of exactly this Cluster, and not of another one of its name. */
export const isOfCluster = (object: Pick<Machine | NodePool, 'spec'>, cluster: ClusterIdentity): boolean =>
  isSameCluster(clusterOfMachine(object), cluster);

/** Whether this instance created a Machine or NodePool for exactly this Cluster, and not for another one of its name. */
export const isOwnOfCluster = (
  instance: ProviderInstance,
  object: Pick<Machine | NodePool, 'spec'>,
  cluster: ClusterIdentity,
): boolean => isOwnMachine(instance, object.spec) && isOfCluster(object, cluster);
