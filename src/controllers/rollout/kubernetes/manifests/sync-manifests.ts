import type { KubeClient } from '../../../../kube/client/client.ts';
import { KubeError } from '../../../../kube/errors.ts';
import type { KubeObject, ResourceType } from '../../../../kube/resource.ts';
import {
  findDropped,
  manifestInventory,
  mayAdopt,
  type ObjectId,
  objectIdOf,
  parseInventoryKey,
  toInventoryKey,
} from './inventory.ts';
import { ResourceTypes } from './resource-types.ts';

export interface ManifestSync {
  /** Of the API server of the cluster. */
  readonly client: KubeClient;
  /** What the control planes render, in the order in which to apply it. */
  readonly objects: readonly KubeObject[];
  /** What the other control planes render: it must be gone from all before it is deleted. */
  readonly others?: readonly KubeObject[];
  /** Since Talos 1.13: keep the inventory, and delete what has dropped out. */
  readonly hasInventory: boolean;
  readonly signal: AbortSignal;
}

export interface SyncReport {
  readonly applied: number;
  /** Deleted, as `DaemonSet kube-system/kube-proxy`. */
  readonly pruned: readonly string[];
  /** Why objects could not be applied or deleted. Nothing is deleted then. */
  readonly problems: readonly string[];
}

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const ConfigMap: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};

/** The field manager of Talos, which has created these objects: ours would share their fields with it for ever. */
const fieldManager = 'talos';

/** Their deletion would delete what others have put there. They stay, and stay in the inventory. */
const keptKinds = ['Namespace', 'CustomResourceDefinition', 'PersistentVolume', 'PersistentVolumeClaim'];

/**
 * Applies the bootstrap manifests as `talosctl upgrade-k8s` does: Talos itself only creates what is missing, so that
 * kube-proxy would stay at its old version. Any number of repetitions has the effect of one.
 */
export async function syncManifests(sync: ManifestSync): Promise<SyncReport> {
  const types = new ResourceTypes(sync.client, sync.signal);
  const entries = sync.hasInventory ? await readInventory(sync) : [];
  const applied: KubeObject[] = [];
  const problems: string[] = [];
  for (const object of sync.objects) {
    const outcome = await explaining(object, () => applyManifest(sync, types, object));
    if (typeof outcome === 'string') problems.push(outcome);
    else applied.push(outcome);
  }
  if (!sync.hasInventory) return { applied: applied.length, pruned: [], problems };
  // Before anything is deleted, so that a deletion that is interrupted is repeated.
  await addToInventory(sync, applied.map(objectIdOf), entries);
  if (problems.length > 0) return { applied: applied.length, pruned: [], problems };
  const pruned = await prune(sync, types, findDropped(entries, [...applied, ...sync.objects, ...(sync.others ?? [])]));
  return { applied: applied.length, ...pruned };
}

/** The object as it was applied, or why it was not. */
async function applyManifest(
  { client, hasInventory, signal }: ManifestSync,
  types: ResourceTypes,
  object: KubeObject,
): Promise<KubeObject | string> {
  const type = await types.find(object.apiVersion, object.kind);
  if (!type) return `the cluster does not have the kind ${object.kind} of ${object.apiVersion}`;
  const located = locate(object, type);
  const present = await client.find(type, located.metadata, signal);
  if (present && !mayAdopt(present)) return 'it belongs to another inventory';
  const metadata = hasInventory ? withInventory(located.metadata) : located.metadata;
  // Fields that others have changed get the values of Talos again, as with talosctl.
  await client.apply(type, { ...located, metadata }, { force: true, fieldManager }, signal);
  return located;
}

function locate(object: KubeObject, { namespaced }: ResourceType): KubeObject {
  const { namespace = 'default', ...metadata } = object.metadata;
  return { ...object, metadata: namespaced ? { ...metadata, namespace } : metadata };
}

const withInventory = (metadata: KubeObject['metadata']): KubeObject['metadata'] => ({
  ...metadata,
  annotations: { ...metadata.annotations, [manifestInventory.annotation]: manifestInventory.name },
});

/** The error of one object is a sentence; one of the connection ends the whole attempt. */
async function explaining<T>(object: KubeObject, work: () => Promise<T | string>): Promise<T | string> {
  const name = describeObject(objectIdOf(object));
  try {
    const outcome = await work();
    return typeof outcome === 'string' ? `${name}: ${outcome}` : outcome;
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0 || error.status >= 500 || error.status === 429) throw error;
    return `${name}: ${error.message}`;
  }
}

const describeObject = ({ kind, namespace, name }: ObjectId): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

const inventoryKey = { namespace: manifestInventory.namespace, name: manifestInventory.name };

async function readInventory({ client, signal }: ManifestSync): Promise<ObjectId[]> {
  const found = await client.find(ConfigMap, inventoryKey, signal);
  if (!found) await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: inventoryKey }, signal);
  return Object.keys(found?.data ?? {}).flatMap((key) => parseInventoryKey(key) ?? []);
}

async function addToInventory(sync: ManifestSync, ids: readonly ObjectId[], known: readonly ObjectId[]): Promise<void> {
  const present = new Set(known.map(toInventoryKey));
  const missing = ids.map(toInventoryKey).filter((key) => !present.has(key));
  if (missing.length > 0) await patchInventory(sync, Object.fromEntries(missing.map((key) => [key, ''])));
}

const patchInventory = async ({ client, signal }: ManifestSync, data: object): Promise<void> => {
  await client.merge(ConfigMap, inventoryKey, { data }, {}, signal);
};

async function prune(
  sync: ManifestSync,
  types: ResourceTypes,
  dropped: readonly ObjectId[],
): Promise<Pick<SyncReport, 'pruned' | 'problems'>> {
  const [pruned, gone, problems]: [string[], string[], string[]] = [[], [], []];
  for (const id of dropped.filter(({ kind }) => !keptKinds.includes(kind))) {
    const outcome = await removeObject(sync, types, id);
    if (outcome === 'foreign') problems.push(`${describeObject(id)}: it belongs to another inventory`);
    else gone.push(toInventoryKey(id));
    if (outcome === 'removed') pruned.push(describeObject(id));
  }
  if (gone.length > 0) await patchInventory(sync, Object.fromEntries(gone.map((key) => [key, null])));
  return { pruned, problems };
}

async function removeObject(
  { client, signal }: ManifestSync,
  types: ResourceTypes,
  id: ObjectId,
): Promise<'removed' | 'gone' | 'foreign'> {
  const type = await types.findByGroup(id);
  if (!type) return 'gone';
  const key = type.namespaced ? { namespace: id.namespace, name: id.name } : { name: id.name };
  const present = await client.find(type, key, signal);
  if (!present) return 'gone';
  if (!mayAdopt(present)) return 'foreign';
  const { uid } = present.metadata;
  await client.remove(type, key, { propagation: 'Background', ...(uid && { uid }) }, signal);
  return 'removed';
}
