import type { ApiResource, Subresource } from '../builtin/resources.ts';
import type { ResourceRegistry } from '../storage/resource-registry.ts';

export interface ServedVersion {
  readonly name: string;
  readonly resources: readonly ApiResource[];
}

export interface ServedGroup {
  /** Empty: the core group. */
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** All groups: the built-in ones in their order, then those of definitions by name. */
export function groupsOf(registry: ResourceRegistry): ServedGroup[] {
  const groups = new Map<string, Map<string, ApiResource[]>>();
  const all = registry.all();
  const custom = all.filter((resource) => resource.definition).sort((a, b) => compare(a.group, b.group));
  for (const resource of [...all.filter((one) => !one.definition), ...custom]) {
    const versions = groups.get(resource.group) ?? new Map<string, ApiResource[]>();
    groups.set(resource.group, versions);
    versions.set(resource.version, [...(versions.get(resource.version) ?? []), resource]);
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions]
      .map(([version, resources]) => ({
        name: version,
        resources: resources.sort((a, b) => compare(a.plural, b.plural)),
      }))
      .sort((a, b) => compareVersions(a.name, b.name)),
  }));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Stable before beta before alpha, higher numbers first, other names last in alphabetical order. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [versionRank(a), versionRank(b)];
  if (!left || !right) return left ? -1 : right ? 1 : compare(a, b);
  return right[0] - left[0] || right[1] - left[1] || right[2] - left[2];
}

const stages = ['alpha', 'beta', ''];

function versionRank(version: string): [number, number, number] | undefined {
  const found = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  return found ? [stages.indexOf(found[2] ?? ''), Number(found[1]), Number(found[3] ?? 0)] : undefined;
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The same in the order of definitions. */
const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** The verbs of a resource without its subresources. */
export function verbsOf(resource: ApiResource): readonly string[] {
  if (resource.virtual) return ['create'];
  if (resource.definition) return customVerbs;
  return resource.storage === 'namespaces' ? allVerbs.filter((verb) => verb !== 'deletecollection') : allVerbs;
}

export interface ServedSubresource {
  readonly name: Subresource;
  readonly verbs: readonly string[];
  /** Empty group and version: those of the resource. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
}

/** A resource's subresources. */
export const subresourcesOf = (resource: ApiResource): ServedSubresource[] =>
  resource.subresources.map((name) => {
    switch (name) {
      case 'token':
        return {
          name,
          verbs: ['create'],
          kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
        };
      case 'scale':
        return {
          name,
          verbs: ['get', 'patch', 'update'],
          kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        };
      case 'eviction':
        return { name, verbs: ['create'], kind: { group: 'policy', version: 'v1', kind: 'Eviction' } };
      case 'finalize':
        return { name, verbs: ['update'], kind: { group: '', version: '', kind: resource.kind } };
      default:
        return { name, verbs: ['get', 'patch', 'update'], kind: { group: '', version: '', kind: resource.kind } };
    }
  });
