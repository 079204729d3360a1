import type { ObjectKey, ResourceType } from '../resource.ts';

/**
 * The path at which objects of a kind are listed and created. `everywhere` permits a namespaced kind without a
 * namespace.
 */
export function collectionPath(type: ResourceType, namespace: string | undefined, everywhere = false): string {
  const root = type.group ? `/apis/${type.group}/${type.version}` : `/api/${type.version}`;
  if (!type.namespaced) return `${root}/${type.plural}`;
  if (namespace) return `${root}/namespaces/${pathSegment(type, namespace)}/${type.plural}`;
  if (everywhere) return `${root}/${type.plural}`;
  throw new TypeError(`${type.plural} are namespaced: a namespace is needed`);
}

/**
 * The path of one object or of one of its subresources. Throws a TypeError for a name that would yield a wrong path.
 */
export function objectPath(type: ResourceType, key: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(type, key.namespace)}/${pathSegment(type, key.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/**
 * One path segment. An empty name would address the whole collection, so that a delete would remove all its objects.
 */
function pathSegment(type: ResourceType, name: string): string {
  if (!name || name === '.' || name === '..') throw new TypeError(`${type.plural}: "${name}" is not a name`);
  return encodeURIComponent(name);
}
