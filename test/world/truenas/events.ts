import type { Entry } from './query.ts';

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

/** Everybody who listens: one listener for each connection, which knows its subscriptions. */
export class Events {
  readonly #listeners = new Set<(event: CollectionEvent) => void>();

  listen(listener: (event: CollectionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: CollectionEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
