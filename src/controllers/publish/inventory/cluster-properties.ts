import { labels } from '../../../api/names.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isNotFound } from '../../../kube/errors.ts';
import { objectKeyOf } from '../../../kube/resource.ts';
import type { PublicationProblem } from '../decide-form.ts';
import { type ClusterAttribute, ClusterProperty } from './inventory-types.ts';

/** The two well-known properties of a member of a ClusterSet. */
export const clusterIdName = 'cluster.clusterset.k8s.io';
export const clusterSetName = 'clusterset.k8s.io';

/** A cluster of others may have any number. */
const maxMirrored = 32;

/** The ClusterProperties in a cluster; undefined if the cluster does not have the kind. */
export async function listClusterProperties(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly ClusterProperty[] | undefined> {
  try {
    return (await client.list(ClusterProperty, { maxItems: maxMirrored }, signal)).items;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const isOwn = ({ metadata }: ClusterProperty, provider: string): boolean =>
  metadata.labels?.[labels.provider] === provider;

/** The properties of others, for the profile. */
export const mirroredProperties = (found: readonly ClusterProperty[], provider: string): ClusterAttribute[] =>
  found
    .filter((one) => !isOwn(one, provider) && typeof one.spec?.value === 'string')
    .map(({ metadata, spec }) => ({ name: metadata.name, value: spec.value }));

/** The membership of a cluster: the properties that it is to have; empty outside of a ClusterSet. */
export const describeMembershipProperties = (id: string, clusterSet: string | undefined): ClusterAttribute[] =>
  clusterSet === undefined
    ? []
    : [
        { name: clusterIdName, value: id },
        { name: clusterSetName, value: clusterSet },
      ];

export interface PropertyChanges {
  readonly remove: readonly ClusterProperty[];
  readonly create: readonly ClusterAttribute[];
  /** Somebody else says that the cluster is a member of another set. */
  readonly problem?: PublicationProblem;
}

/** A property must not change while a cluster is a member: it is removed, and created again. */
export function planClusterProperties(
  wanted: readonly ClusterAttribute[],
  found: readonly ClusterProperty[],
  provider: string,
): PropertyChanges {
  const foreign = wanted.flatMap(({ name, value }) =>
    found.filter((one) => one.metadata.name === name && one.spec.value !== value && !isOwn(one, provider)),
  )[0];
  if (foreign) {
    const { name } = foreign.metadata;
    const message = `ClusterProperty ${name} in the cluster was made by others and has another value: it is not changed. Remove it, or omit spec.publish.clusterProfile.clusterSet.`;
    return { remove: [], create: [], problem: { reason: 'NotManaged', message } };
  }
  const isRight = (one: ClusterProperty): boolean =>
    wanted.some(({ name, value }) => name === one.metadata.name && value === one.spec.value);
  return {
    remove: found.filter((one) => isOwn(one, provider) && !isRight(one)),
    create: wanted.filter(({ name }) => !found.some((one) => one.metadata.name === name && isRight(one))),
  };
}

/** Executes the changes. */
export async function changeClusterProperties(
  client: KubeClient,
  { remove, create }: PropertyChanges,
  provider: string,
  signal: AbortSignal,
): Promise<void> {
  for (const object of remove) {
    const { uid } = object.metadata;
    await client.remove(ClusterProperty, objectKeyOf(object), uid ? { uid } : {}, signal);
  }
  for (const { name, value } of create) {
    const metadata = { name, labels: { [labels.provider]: provider } };
    const apiVersion = `${ClusterProperty.group}/${ClusterProperty.version}`;
    await client.create(ClusterProperty, { apiVersion, kind: ClusterProperty.kind, metadata, spec: { value } }, signal);
  }
}
