import { dropFinalizer, removeStored } from '../delete.ts';
import { clone } from '../json.ts';
import type { Registry } from '../registry.ts';
import type { ApiObject, OwnerReference, Storage } from '../store.ts';
import { follow } from './loop.ts';

interface Found {
  readonly table: string;
  readonly object: ApiObject;
}

/** Deletes what nobody owns any more, and obeys the finalizers `orphan` and `foregroundDeletion`. */
export function runGarbageCollector(storage: Storage, registry: Registry): () => void {
  return follow(
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
      if (found) settle(storage, registry, found);
      else for (const dependent of dependentsOf(storage, uid)) settle(storage, registry, dependent);
    },
    storage
      .tables()
      .flatMap((table) =>
        storage.all(table).flatMap(({ metadata }) => (metadata.ownerReferences?.length ? [metadata.uid ?? ''] : [])),
      ),
  );
}

function* everything(storage: Storage): Generator<Found> {
  for (const table of storage.tables()) for (const object of storage.all(table)) yield { table, object };
}

function findByUid(storage: Storage, uid: string): Found | undefined {
  for (const found of everything(storage)) if (found.object.metadata.uid === uid) return found;
  return undefined;
}

const dependentsOf = (storage: Storage, uid: string): Found[] =>
  [...everything(storage)].filter(({ object }) => object.metadata.ownerReferences?.some((owner) => owner.uid === uid));

function settle(storage: Storage, registry: Registry, found: Found): void {
  const { deletionTimestamp, finalizers = [] } = found.object.metadata;
  if (deletionTimestamp && finalizers.includes('orphan')) orphan(storage, found);
  else if (deletionTimestamp && finalizers.includes('foregroundDeletion')) goAfterOthers(storage, registry, found);
  else if (!deletionTimestamp) judge(storage, registry, found);
}

function orphan(storage: Storage, { table, object }: Found): void {
  for (const dependent of dependentsOf(storage, object.metadata.uid ?? '')) {
    removeReferences(storage, dependent, (owner) => owner.uid === object.metadata.uid);
  }
  dropFinalizer(storage, table, object, 'orphan');
}

function goAfterOthers(storage: Storage, registry: Registry, { table, object }: Found): void {
  const { uid = '' } = object.metadata;
  for (const dependent of dependentsOf(storage, uid)) judge(storage, registry, dependent);
  const isBlocked = dependentsOf(storage, uid).some(({ object: dependent }) =>
    dependent.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
  );
  const current = storage.read(table, object.metadata.namespace, object.metadata.name);
  if (!isBlocked && current?.metadata.uid === uid) dropFinalizer(storage, table, current, 'foregroundDeletion');
}

type State = 'solid' | 'dangling' | 'waiting' | 'unknown';

function judge(storage: Storage, registry: Registry, { table, object }: Found): void {
  const { namespace, name, uid, deletionTimestamp, ownerReferences = [] } = object.metadata;
  const current = storage.read(table, namespace, name);
  if (!current || current.metadata.uid !== uid || deletionTimestamp || ownerReferences.length === 0) return;
  const states = new Map(ownerReferences.map((owner) => [owner.uid, stateOf(storage, registry, object, owner)]));
  const has = (state: State): boolean => [...states.values()].includes(state);
  if (has('unknown')) return;
  if (has('solid')) {
    if (has('dangling') || has('waiting')) {
      removeReferences(storage, { table, object: current }, (owner) => states.get(owner.uid) !== 'solid');
    }
    return;
  }
  const isOwner = has('waiting') && dependentsOf(storage, uid ?? '').length > 0;
  removeStored(storage, table, current, { dryRun: false, ...(isOwner ? { propagation: 'Foreground' } : {}) });
}

function stateOf(storage: Storage, registry: Registry, object: ApiObject, owner: OwnerReference): State {
  const resource = registry.findKind(owner.apiVersion, owner.kind);
  if (!resource) return 'unknown';
  if (resource.namespaced && object.metadata.namespace === undefined) return 'unknown';
  const found = storage.read(resource.storage, resource.namespaced ? object.metadata.namespace : undefined, owner.name);
  if (found?.metadata.uid !== owner.uid) return 'dangling';
  const { deletionTimestamp, finalizers = [] } = found.metadata;
  return deletionTimestamp && finalizers.includes('foregroundDeletion') ? 'waiting' : 'solid';
}

function removeReferences(
  storage: Storage,
  { table, object }: Found,
  isGone: (owner: OwnerReference) => boolean,
): void {
  const next = clone(object);
  const left = (next.metadata.ownerReferences ?? []).filter((owner) => !isGone(owner));
  if (left.length > 0) next.metadata.ownerReferences = left;
  else delete next.metadata.ownerReferences;
  storage.write(table, next);
}
