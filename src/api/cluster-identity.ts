import type { ObjectMeta } from '../kube/resource.ts';
import { annotations } from './names.ts';

/**
 * A Cluster, told apart from every other one: from those whose names have the same hash, and, by its UID, from one that had its
 * name before. Extra fields, as those of an object's metadata, mean nothing.
 */
export interface ClusterIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Whether two of them are the same Cluster. Everything that is found, adopted, changed or deleted for a Cluster is decided by this
 * function; hashes in names and labels are for selection only. A Cluster without a UID is the same as no other.
 */
export const isSameCluster = (a: ClusterIdentity | undefined, b: ClusterIdentity): boolean =>
  a !== undefined && a.uid !== '' && a.uid === b.uid && a.name === b.name && a.namespace === b.namespace;

/** As a key of a map: parts of names hold no slash. */
export const clusterIdentityKey = ({ namespace, name, uid }: ClusterIdentity): string => `${namespace}/${name}/${uid}`;

/** Keys of a map, as {@link clusterIdentityKey} makes them, of one Cluster; without a UID of every one that has or had the name. */
export const filterClusterIdentityKeys = (
  keys: Iterable<string>,
  { namespace, name, uid }: Omit<ClusterIdentity, 'uid'> & { readonly uid?: string },
): string[] =>
  [...keys].filter((key) =>
    uid === undefined ? key.startsWith(`${namespace}/${name}/`) : key === clusterIdentityKey({ namespace, name, uid }),
  );

/** The annotations of everything that we make for a Cluster. */
export const clusterIdentityAnnotations = ({ namespace, name, uid }: ClusterIdentity): Record<string, string> => ({
  [annotations.clusterNamespace]: namespace,
  [annotations.clusterName]: name,
  [annotations.clusterUid]: uid,
});

/** The Cluster that an object names in its annotations; undefined when it does not name one completely. */
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

/** Whose an object is, for a sentence; `undefined` stands for an object that does not say so. */
export const describeClusterOwner = (owner: ClusterIdentity | undefined): string =>
  owner ? `Cluster ${owner.namespace}/${owner.name} with UID ${owner.uid}` : 'no Cluster that it names';
