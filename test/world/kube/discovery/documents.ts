import { createHash } from 'node:crypto';
import type { ApiResource } from '../builtin/resources.ts';
import { type ServedGroup, type ServedVersion, subresourcesOf, verbsOf } from './groups.ts';

/** Discovery by one document for each group and version; clients that ask for an aggregated one fall back to these. */

const groupVersion = (group: string, version: string): string => (group ? `${group}/${version}` : version);

export const apiVersionsDocument = ({ versions }: ServedGroup, url: string) => ({
  kind: 'APIVersions',
  versions: versions.map(({ name }) => name),
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: new URL(url).host }],
});

/** `alone`: a separate document instead of a list item. */
export function apiGroupDocument({ name, versions }: ServedGroup, alone = false) {
  const named = versions.map((version) => ({
    groupVersion: groupVersion(name, version.name),
    version: version.name,
  }));
  return {
    ...(alone ? { kind: 'APIGroup', apiVersion: 'v1' } : {}),
    name,
    versions: named,
    preferredVersion: named[0],
  };
}

export const apiGroupListDocument = (groups: readonly ServedGroup[]) => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map((group) => apiGroupDocument(group)),
});

export const apiResourceListDocument = (group: ServedGroup, version: ServedVersion) => ({
  kind: 'APIResourceList',
  ...(group.name ? { apiVersion: 'v1' } : {}),
  groupVersion: groupVersion(group.name, version.name),
  resources: version.resources.flatMap((resource) => [describeResource(resource), ...describeSubresources(resource)]),
});

const nonEmptyList = (name: string, list: readonly string[]) => (list.length > 0 ? { [name]: list } : {});

const describeResource = (resource: ApiResource) => ({
  name: resource.plural,
  singularName: resource.singular,
  namespaced: resource.namespaced,
  kind: resource.kind,
  verbs: verbsOf(resource),
  ...nonEmptyList('shortNames', resource.shortNames),
  ...nonEmptyList('categories', resource.categories),
  ...(resource.virtual ? {} : { storageVersionHash: storageVersionHash(resource) }),
});

const describeSubresources = (resource: ApiResource) =>
  subresourcesOf(resource).map(({ name, verbs, kind }) => ({
    name: `${resource.plural}/${name}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...(kind.version ? { group: kind.group, version: kind.version } : {}),
    kind: kind.kind,
    verbs,
  }));

/** Changes with the storage version. */
const storageVersionHash = ({ group, version, kind }: ApiResource): string =>
  createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
