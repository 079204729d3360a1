import type { KubeObject } from '../../../../kube/resource.ts';

/**
 * The list of the bootstrap manifests that Talos 1.13 and later has applied: a ConfigMap whose keys are the objects. Its
 * name and form are those of Talos, so that `talosctl upgrade-k8s` continues where we stop, and the other way round
 * (`constants.KubernetesBootstrapManifestsInventoryName`; the keys are those of kubernetes-sigs/cli-utils).
 */
export const manifestInventory = {
  name: 'talos-bootstrap-manifests-inventory',
  namespace: 'kube-system',
  /** On each object of the inventory: its name. */
  annotation: 'config.k8s.io/owning-inventory',
} as const;

/** Identifies an object over versions of its API. */
export interface ObjectId {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

const separator = '_';
/** A key cannot contain a colon, and names of RBAC do. */
const encodedColon = '__';

/** `namespace_name_group_Kind`. */
export const toInventoryKey = ({ group, kind, namespace, name }: ObjectId): string =>
  [namespace, name.replaceAll(':', encodedColon), group, kind].join(separator);

/** Undefined for a key that is none of Talos. */
export function parseInventoryKey(key: string): ObjectId | undefined {
  const first = key.indexOf(separator);
  const last = key.lastIndexOf(separator);
  const middle = key.lastIndexOf(separator, last - 1);
  if (first < 0 || middle <= first || last - 1 < 0) return undefined;
  const name = key.slice(first + 1, middle).replaceAll(encodedColon, ':');
  const id = { namespace: key.slice(0, first), name, group: key.slice(middle + 1, last), kind: key.slice(last + 1) };
  return id.name === '' || id.kind === '' ? undefined : id;
}

export const objectIdOf = ({ apiVersion, kind, metadata }: KubeObject): ObjectId => ({
  group: apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/**
 * Whether the inventory may take an object, or delete it: it belongs to this inventory or to none. That is the policy
 * `AdoptIfNoInventory` of Talos.
 */
export function mayAdopt({ metadata }: KubeObject): boolean {
  const owner = metadata.annotations?.[manifestInventory.annotation];
  return owner === undefined || owner === manifestInventory.name;
}

/**
 * The entries to delete: they were applied once, and the manifests of the node do not contain them any more. A manifest
 * of a cluster-scoped object may name a namespace by mistake.
 */
export function findDropped(entries: readonly ObjectId[], objects: readonly KubeObject[]): ObjectId[] {
  const ids = objects.map(objectIdOf);
  return entries.filter(
    (entry) =>
      !ids.some(
        ({ group, kind, name, namespace }) =>
          group === entry.group &&
          kind === entry.kind &&
          name === entry.name &&
          (namespace === entry.namespace || entry.namespace === ''),
      ),
  );
}
