import { formatObjectKey, type KubeObject, type ObjectKey, objectKeyOf } from '../resource.ts';

/** Functions that return the index values of an object, e.g. the Cluster of a Machine. */
export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/**
 * A change of an object. `before` is the former state. `resync` reports no change: it triggers a periodic reconcile in
 * case an event was missed.
 */
export interface ObjectChange<T> {
  readonly kind: 'added' | 'updated' | 'deleted' | 'resync';
  readonly object: T;
  readonly before?: T;
}

/** The known objects of one kind, with indexes. Objects are deep-frozen: readers cannot change the cache. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: Map<string, (object: T) => readonly string[]>;
  readonly #found = new Map<string, Map<string, Map<string, T>>>();

  constructor(indexes: Indexes<T> = {}) {
    this.#indexes = new Map(Object.entries(indexes));
    for (const name of Object.keys(indexes)) this.#found.set(name, new Map());
  }

  /** Adds an index of the known objects and all later ones. Throws for a name that is in use. */
  addIndex(name: string, index: (object: T) => readonly string[]): void {
    if (this.#indexes.has(name)) throw new TypeError(`there is an index "${name}" already`);
    const found = new Map<string, Map<string, T>>();
    for (const [key, object] of this.#objects) addTo(found, index(object), key, object);
    this.#indexes.set(name, index);
    this.#found.set(name, found);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(formatObjectKey(key));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Throws for an unknown index. */
  by(index: string, value: string): readonly T[] {
    const found = this.#found.get(index);
    if (!found) throw new TypeError(`there is no index "${index}"`);
    return [...(found.get(value)?.values() ?? [])];
  }

  /**
   * Stores an object and returns the changes: none, one, or (for a new object of the same name) a deletion and an
   * addition.
   */
  put(object: T): readonly ObjectChange<T>[] {
    const key = formatObjectKey(objectKeyOf(object));
    const before = this.#objects.get(key);
    if (before && isSameVersion(before, object)) return [];
    deepFreeze(object);
    this.#forget(key, before);
    this.#objects.set(key, object);
    this.#remember(key, object);
    if (!before) return [{ kind: 'added', object }];
    if (before.metadata.uid === object.metadata.uid) return [{ kind: 'updated', object, before }];
    return [
      { kind: 'deleted', object: before, before },
      { kind: 'added', object },
    ];
  }

  /** Removes an object; `last` is its last state, if the API server sent it. */
  drop(key: ObjectKey, last?: T): readonly ObjectChange<T>[] {
    const text = formatObjectKey(key);
    const before = this.#objects.get(text);
    if (!before) return [];
    this.#forget(text, before);
    this.#objects.delete(text);
    const isSameName = last && last.metadata.uid !== before.metadata.uid;
    return [{ kind: 'deleted', object: last && !isSameName ? deepFreeze(last) : before, before }];
  }

  /** Replaces the content by a complete list. Objects that are not in the list were deleted between two watches. */
  replace(objects: readonly T[]): readonly ObjectChange<T>[] {
    const present = new Set(objects.map((object) => formatObjectKey(objectKeyOf(object))));
    const gone = this.list().filter((object) => !present.has(formatObjectKey(objectKeyOf(object))));
    return [
      ...gone.flatMap((object) => this.drop(objectKeyOf(object))),
      ...objects.flatMap((object) => this.put(object)),
    ];
  }

  #remember(key: string, object: T): void {
    for (const [found, value] of this.#places(object)) addTo(found, [value], key, object);
  }

  #forget(key: string, object: T | undefined): void {
    if (!object) return;
    for (const [found, value] of this.#places(object)) {
      const objects = found.get(value);
      objects?.delete(key);
      if (objects?.size === 0) found.delete(value);
    }
  }

  *#places(object: T): Generator<[Map<string, Map<string, T>>, string]> {
    for (const [name, found] of this.#found) {
      for (const value of this.#indexes.get(name)?.(object) ?? []) yield [found, value];
    }
  }
}

function addTo<T>(found: Map<string, Map<string, T>>, values: readonly string[], key: string, object: T): void {
  for (const value of values) {
    const objects = found.get(value) ?? new Map<string, T>();
    found.set(value, objects.set(key, object));
  }
}

function isSameVersion(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
