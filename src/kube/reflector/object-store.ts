import { formatObjectKey, type KubeObject, type ObjectKey, objectKeyOf } from '../resource.ts';

/** Names the values under which an object is to be found again, e.g. the Machines of a Cluster. */
export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/**
 * What happened to an object. `before` is what was known until then. `resync` says only that time has passed: look
 * again, in case something was missed.
 */
export interface ObjectChange<T> {
  readonly kind: 'added' | 'updated' | 'deleted' | 'resync';
  readonly object: T;
  readonly before?: T;
}

/**
 * The known objects of one kind, with indexes. What goes in is frozen at every depth: a cache that its readers can
 * change is not one.
 */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: Indexes<T>;
  readonly #found = new Map<string, Map<string, Map<string, T>>>();

  constructor(indexes: Indexes<T> = {}) {
    this.#indexes = indexes;
    for (const name of Object.keys(indexes)) this.#found.set(name, new Map());
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

  /** Throws when there is no index of that name. */
  by(index: string, value: string): readonly T[] {
    const found = this.#found.get(index);
    if (!found) throw new TypeError(`there is no index "${index}"`);
    return [...(found.get(value)?.values() ?? [])];
  }

  /** Takes in an object and tells what that changed: nothing, one thing, or (a namesake) an end and a beginning. */
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

  /** Drops an object; `last` is its last state, if the server told it. */
  drop(key: ObjectKey, last?: T): readonly ObjectChange<T>[] {
    const text = formatObjectKey(key);
    const before = this.#objects.get(text);
    if (!before) return [];
    this.#forget(text, before);
    this.#objects.delete(text);
    const isNamesake = last && last.metadata.uid !== before.metadata.uid;
    return [{ kind: 'deleted', object: last && !isNamesake ? deepFreeze(last) : before, before }];
  }

  /** Makes the store equal to a complete list. What is not on it was deleted while nobody watched. */
  replace(objects: readonly T[]): readonly ObjectChange<T>[] {
    const present = new Set(objects.map((object) => formatObjectKey(objectKeyOf(object))));
    const gone = this.list().filter((object) => !present.has(formatObjectKey(objectKeyOf(object))));
    return [
      ...gone.flatMap((object) => this.drop(objectKeyOf(object))),
      ...objects.flatMap((object) => this.put(object)),
    ];
  }

  #remember(key: string, object: T): void {
    for (const [found, value] of this.#places(object)) {
      const objects = found.get(value) ?? new Map<string, T>();
      found.set(value, objects.set(key, object));
    }
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
      for (const value of this.#indexes[name]?.(object) ?? []) yield [found, value];
    }
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
