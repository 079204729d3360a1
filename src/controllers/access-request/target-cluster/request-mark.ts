import { annotations } from '../../../api/names.ts';
import type { NamespacedRef } from '../../../api/openmcp/types.ts';
import type { KubeObject } from '../../../kube/resource.ts';

/**
 * An AccessRequest. The UID distinguishes it from an earlier one of the same name, and the name from others with the
 * same hash.
 */
export interface AccessRequestIdentity extends NamespacedRef {
  readonly uid: string;
}

/** The annotations on all objects of a request in a target cluster. */
export const describeRequestMark = ({ namespace, name, uid }: AccessRequestIdentity): Record<string, string> => ({
  [annotations.requestNamespace]: namespace,
  [annotations.requestName]: name,
  [annotations.requestUid]: uid,
});

/**
 * The owner of an object in a target cluster that has the label of a request, whose value is a hash. `former`: a
 * deleted request of the same name, since only one can exist at a time. Its objects are not reused, because its tokens
 * may still be in use. An object without annotations belongs to the request: a role that lost its annotations is
 * revoked as well.
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

/** The request that an object names, for a message. */
export const describeMarkedRequest = ({ metadata: { annotations: notes = {} } }: KubeObject): string =>
  `AccessRequest ${notes[annotations.requestNamespace]}/${notes[annotations.requestName]}`;
