import type { ObjectKey, ResourceType } from '../resource.ts';

/** Where objects of a kind are listed and created. `everywhere` allows a namespaced kind without a namespace. */
export function collectionPath(type: ResourceType, namespace: string | undefined, everywhere = false): string {
  const root = type.group ? `/apis/${type.group}/${type.version}` : `/api/${type.version}`;
  if (!type.namespaced) return `${root}/${type.plural}`;
  if (namespace) return `${root}/namespaces/${pathSegment(type, namespace)}/${type.plural}`;
  if (everywhere) return `${root}/${type.plural}`;
  throw new TypeError(`${type.plural} are namespaced: a namespace is needed`);
}

/** Where one object, or one of its sub-resources, is. Throws a TypeError before a wrong path is asked for. */
export function objectPath(type: ResourceType, key: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(type, key.namespace)}/${pathSegment(type, key.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** One part of a path. An empty name would turn an object into its whole collection, and a delete into a disaster. */
function pathSegment(type: ResourceType, name: string): string {
  if (!name || name === '.' || name === '..') throw new TypeError(`${type.plural}: "${name}" is not a name`);
  return encodeURIComponent(name);
}
