import { annotations } from '../../../api/names.ts';
import type { Secret } from '../../../kube/core-types.ts';
import type { ObjectChange } from '../../../kube/reflector/object-store.ts';
import type { KubeObject, ObjectKey } from '../../../kube/resource.ts';
import { hashAuthorities } from './cluster-secrets.ts';

/** The Cluster that an object names as its owner. */
export function clusterNamedBy({ metadata }: KubeObject): ObjectKey[] {
  const namespace = metadata.annotations?.[annotations.clusterNamespace];
  const name = metadata.annotations?.[annotations.clusterName];
  return namespace && name ? [{ namespace, name }] : [];
}

/** Whether a rotation has changed what the nodes of a cluster are to have, and what its clients trust. */
export const hasOtherAuthorities = ({ kind, object, before }: ObjectChange<Secret>): boolean =>
  kind === 'updated' && before !== undefined && hashAuthorities(object) !== hashAuthorities(before);
