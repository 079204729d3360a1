import type { ApiResource } from '../builtin/resources.ts';
import { type ServedGroup, type ServedSubresource, subresourcesOf, verbsOf } from './groups.ts';

/** Aggregated discovery. `version`: of apidiscovery.k8s.io, v2 or v2beta1, which have the same form. */
export const aggregatedDiscovery = (groups: readonly ServedGroup[], version: string) => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: `apidiscovery.k8s.io/${version}`,
  metadata: {},
  items: groups.map((group) => ({
    metadata: { ...(group.name ? { name: group.name } : {}), creationTimestamp: null },
    versions: group.versions.map(({ name, resources }) => ({
      version: name,
      resources: resources.map(describeResource),
      freshness: 'Current',
    })),
  })),
});

const nonEmptyList = (name: string, list: readonly unknown[]) => (list.length > 0 ? { [name]: list } : {});

/** Built-in kinds omit group and version; custom ones include them. */
const kindOf = ({ definition, group, version }: ApiResource, kind: ServedSubresource['kind']) =>
  definition && !kind.version ? { group, version, kind: kind.kind } : kind;

const describeResource = (resource: ApiResource) => ({
  resource: resource.plural,
  responseKind: kindOf(resource, { group: '', version: '', kind: resource.kind }),
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.singular,
  verbs: verbsOf(resource),
  ...nonEmptyList('shortNames', resource.shortNames),
  ...nonEmptyList('categories', resource.categories),
  ...nonEmptyList(
    'subresources',
    subresourcesOf(resource).map(({ name, verbs, kind }) => ({
      subresource: name,
      responseKind: kindOf(resource, kind),
      verbs,
    })),
  ),
});
