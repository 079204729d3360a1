import type { Entry } from '../middleware/query.ts';
import type { NasState } from '../nas-state.ts';

/** A message of `collection_update`. REMOVED has no `fields`. */
export interface CollectionEvent {
  readonly collection: string;
  readonly msg: 'added' | 'changed' | 'removed';
  readonly id: unknown;
  readonly fields?: Entry;
  readonly extra?: Entry;
  /** Only connections of this user, and of full administrators, get it. */
  readonly owner?: string;
}

/** All listeners: one for each connection, which knows its subscriptions. */
export class CollectionEvents {
  readonly #listeners = new Set<(event: CollectionEvent) => void>();

  listen(listener: (event: CollectionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: CollectionEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/**
 * A change of a machine or a device by a call. The CRUD service sends it; `entry` is absent after a deletion
 * (middleware: service/crud_service.py).
 */
export function emitCallEvent(
  nas: NasState,
  collection: 'vm.query' | 'vm.device.query',
  id: number,
  msg: CollectionEvent['msg'],
  entry?: Entry,
): void {
  const fields = nas.version.eventsBringEntries && entry ? { fields: entry } : {};
  nas.events.emit({ collection, msg, id, ...fields });
}
