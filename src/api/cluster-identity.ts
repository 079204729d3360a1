import type { ObjectMeta } from '../kube/resource.ts';
import { annotations } from './names.ts';

/**
 * Identifies one Cluster. The names tell it apart from Clusters whose names have the same hash, the UID from an earlier
 * Cluster of the same name. Extra fields, as in an object's metadata, are ignored.
 */
export interface ClusterIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Whether both identities are the same Cluster. This function decides about everything that is found, adopted, changed
 * or deleted for a Cluster; hashes in names and labels only select. A Cluster without a UID equals no other.
 */
export const isSameCluster = (a: ClusterIdentity | undefined, b: ClusterIdentity): boolean =>
  a !== undefined && a.uid !== '' && a.uid === b.uid && a.name === b.name && a.namespace === b.namespace;

/** The identity as a map key. Names contain no slash. */
export const clusterIdentityKey = ({ namespace, name, uid }: ClusterIdentity): string => `${namespace}/${name}/${uid}`;

/**
 * The map keys made by {@link clusterIdentityKey} that belong to one Cluster. Without a UID: of every Cluster that has
 * or had the name.
 */
export const filterClusterIdentityKeys = (
  keys: Iterable<string>,
  { namespace, name, uid }: Omit<ClusterIdentity, 'uid'> & { readonly uid?: string },
): string[] =>
  [...keys].filter((key) =>
    uid === undefined ? key.startsWith(`${namespace}/${name}/`) : key === clusterIdentityKey({ namespace, name, uid }),
  );

/** The annotations of every object that the provider creates for a Cluster. */
export const clusterIdentityAnnotations = ({ namespace, name, uid }: ClusterIdentity): Record<string, string> => ({
  [annotations.clusterNamespace]: namespace,
  [annotations.clusterName]: name,
  [annotations.clusterUid]: uid,
});

/** The Cluster that an object names in its annotations; undefined when the annotations are incomplete. */
export function readClusterIdentity({
  annotations: notes = {},
}: Pick<ObjectMeta, 'annotations'>): ClusterIdentity | undefined {
  const { [annotations.clusterNamespace]: namespace, [annotations.clusterName]: name } = notes;
  const uid = notes[annotations.clusterUid];
  return namespace && name && uid ? { namespace, name, uid } : undefined;
}

/** Whether an object names this Cluster in its annotations. */
export const belongsToCluster = (metadata: Pick<ObjectMeta, 'annotations'>, cluster: ClusterIdentity): boolean =>
  isSameCluster(readClusterIdentity(metadata), cluster);

/** The owner of an object, for use in a sentence; `undefined` means that the object names no owner. */
export const describeClusterOwner = (owner: ClusterIdentity | undefined): string =>
  owner ? `Cluster ${owner.namespace}/${owner.name} with UID ${owner.uid}` : 'no known Cluster';
