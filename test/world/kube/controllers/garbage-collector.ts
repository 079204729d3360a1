import { clone } from '../json.ts';
import { deleteStored, removeStoredFinalizer } from '../storage/delete-object.ts';
import type { ResourceRegistry } from '../storage/resource-registry.ts';
import type { ApiObject, ApiOwnerReference, ObjectStorage } from '../storage/store.ts';
import { runKeyedLoop } from './loop.ts';

interface StoredInTable {
  readonly table: string;
  readonly object: ApiObject;
}

/** Deletes orphans, and handles the finalizers `orphan` and `foregroundDeletion`. */
export function runGarbageCollector(storage: ObjectStorage, registry: ResourceRegistry): () => void {
  return runKeyedLoop(
    storage,
    ({ type, object, before }) => {
      const { uid = '', ownerReferences = [], deletionTimestamp } = object.metadata;
      const isOwned = ownerReferences.length > 0;
      const owners = (before ?? object).metadata.ownerReferences?.map((owner) => owner.uid) ?? [];
      if (type === 'DELETED') return [uid, ...owners];
      return isOwned || deletionTimestamp ? [uid, ...owners] : [];
    },
    (uid) => {
      const found = findByUid(storage, uid);
      if (found) processObject(storage, registry, found);
      else for (const dependent of dependentsOf(storage, uid)) processObject(storage, registry, dependent);
    },
    storage
      .tables()
      .flatMap((table) =>
        storage.all(table).flatMap(({ metadata }) => (metadata.ownerReferences?.length ? [metadata.uid ?? ''] : [])),
      ),
  );
}

function* allKeys(storage: ObjectStorage): Generator<StoredInTable> {
  for (const table of storage.tables()) for (const object of storage.all(table)) yield { table, object };
}

function findByUid(storage: ObjectStorage, uid: string): StoredInTable | undefined {
  for (const found of allKeys(storage)) if (found.object.metadata.uid === uid) return found;
  return undefined;
}

const dependentsOf = (storage: ObjectStorage, uid: string): StoredInTable[] =>
  [...allKeys(storage)].filter(({ object }) => object.metadata.ownerReferences?.some((owner) => owner.uid === uid));

function processObject(storage: ObjectStorage, registry: ResourceRegistry, found: StoredInTable): void {
  const { deletionTimestamp, finalizers = [] } = found.object.metadata;
  if (deletionTimestamp && finalizers.includes('orphan')) orphanDependents(storage, found);
  else if (deletionTimestamp && finalizers.includes('foregroundDeletion'))
    deleteAfterDependents(storage, registry, found);
  else if (!deletionTimestamp) collectIfDangling(storage, registry, found);
}

function orphanDependents(storage: ObjectStorage, { table, object }: StoredInTable): void {
  for (const dependent of dependentsOf(storage, object.metadata.uid ?? '')) {
    removeReferences(storage, dependent, (owner) => owner.uid === object.metadata.uid);
  }
  removeStoredFinalizer(storage, table, object, 'orphan');
}

function deleteAfterDependents(
  storage: ObjectStorage,
  registry: ResourceRegistry,
  { table, object }: StoredInTable,
): void {
  const { uid = '' } = object.metadata;
  for (const dependent of dependentsOf(storage, uid)) collectIfDangling(storage, registry, dependent);
  const isBlocked = dependentsOf(storage, uid).some(({ object: dependent }) =>
    dependent.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
  );
  const current = storage.read(table, object.metadata.namespace, object.metadata.name);
  if (!isBlocked && current?.metadata.uid === uid) removeStoredFinalizer(storage, table, current, 'foregroundDeletion');
}

type OwnerState = 'solid' | 'dangling' | 'waiting' | 'unknown';

function collectIfDangling(storage: ObjectStorage, registry: ResourceRegistry, { table, object }: StoredInTable): void {
  const { namespace, name, uid, deletionTimestamp, ownerReferences = [] } = object.metadata;
  const current = storage.read(table, namespace, name);
  if (!current || current.metadata.uid !== uid || deletionTimestamp || ownerReferences.length === 0) return;
  const states = new Map(ownerReferences.map((owner) => [owner.uid, stateOf(storage, registry, object, owner)]));
  const has = (state: OwnerState): boolean => [...states.values()].includes(state);
  if (has('unknown')) return;
  if (has('solid')) {
    if (has('dangling') || has('waiting')) {
      removeReferences(storage, { table, object: current }, (owner) => states.get(owner.uid) !== 'solid');
    }
    return;
  }
  const isOwner = has('waiting') && dependentsOf(storage, uid ?? '').length > 0;
  deleteStored(storage, table, current, { dryRun: false, ...(isOwner ? { propagation: 'Foreground' } : {}) });
}

function stateOf(
  storage: ObjectStorage,
  registry: ResourceRegistry,
  object: ApiObject,
  owner: ApiOwnerReference,
): OwnerState {
  const resource = registry.findKind(owner.apiVersion, owner.kind);
  if (!resource) return 'unknown';
  if (resource.namespaced && object.metadata.namespace === undefined) return 'unknown';
  const found = storage.read(resource.storage, resource.namespaced ? object.metadata.namespace : undefined, owner.name);
  if (found?.metadata.uid !== owner.uid) return 'dangling';
  const { deletionTimestamp, finalizers = [] } = found.metadata;
  return deletionTimestamp && finalizers.includes('foregroundDeletion') ? 'waiting' : 'solid';
}

function removeReferences(
  storage: ObjectStorage,
  { table, object }: StoredInTable,
  isGone: (owner: ApiOwnerReference) => boolean,
): void {
  const next = clone(object);
  const left = (next.metadata.ownerReferences ?? []).filter((owner) => !isGone(owner));
  if (left.length > 0) next.metadata.ownerReferences = left;
  else delete next.metadata.ownerReferences;
  storage.write(table, next);
}
