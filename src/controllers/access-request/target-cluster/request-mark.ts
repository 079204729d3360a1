import { annotations } from '../../../api/names.ts';
import type { NamespacedRef } from '../../../api/openmcp/types.ts';
import type { KubeObject } from '../../../kube/resource.ts';

/** An AccessRequest, told apart from others whose names have the same hash and from one that had its name before. */
export interface AccessRequestIdentity extends NamespacedRef {
  readonly uid: string;
}

/** The annotations of everything that is made for a request in a target cluster. */
export const describeRequestMark = ({ namespace, name, uid }: AccessRequestIdentity): Record<string, string> => ({
  [annotations.requestNamespace]: namespace,
  [annotations.requestName]: name,
  [annotations.requestUid]: uid,
});

/**
 * Whose an object in a target cluster is that carries the label of a request, which is a hash. `former`: of a request that had the same
 * name and is gone, since there can be only one at a time; nothing of it is used again, its tokens may be in other hands. An object
 * without annotations is the request's own: a right that lost them is withdrawn all the same.
 */
export function classifyMarkOwner(
  { metadata }: KubeObject,
  request: AccessRequestIdentity,
): 'own' | 'former' | 'other' {
  const notes = metadata.annotations ?? {};
  const namespace = notes[annotations.requestNamespace] ?? request.namespace;
  const name = notes[annotations.requestName] ?? request.name;
  if (namespace !== request.namespace || name !== request.name) return 'other';
  const uid = notes[annotations.requestUid] ?? request.uid;
  return uid === request.uid ? 'own' : 'former';
}

/** The request that an object names, for a sentence. */
export const describeMarkedRequest = ({ metadata: { annotations: notes = {} } }: KubeObject): string =>
  `AccessRequest ${notes[annotations.requestNamespace]}/${notes[annotations.requestName]}`;
