import { canonicalJson, isObject, type JsonObject } from '../json.ts';

/**
 * A set of field paths in the format of `managedFields` (FieldsV1). An element of a path is `f:<field>`, `k:<keys of a
 * list item>` or `v:<value of a set's item>`. `.` means that the path up to here is itself in the set.
 */
export class FieldSet {
  #isMember = false;
  readonly #children = new Map<string, FieldSet>();

  static fromJson(json: unknown): FieldSet {
    const set = new FieldSet();
    set.#read(isObject(json) ? json : {});
    return set;
  }

  #read(json: JsonObject): void {
    const names = Object.keys(json);
    if (names.length === 0) this.#isMember = true;
    for (const name of names) {
      if (name === '.') this.#isMember = true;
      else this.#child(name).#read(isObject(json[name]) ? json[name] : {});
    }
  }

  toJson(): JsonObject {
    const json: JsonObject = this.#isMember && this.#children.size > 0 ? { '.': {} } : {};
    for (const name of [...this.#children.keys()].sort()) json[name] = this.#children.get(name)?.toJson();
    return json;
  }

  get isEmpty(): boolean {
    return !this.#isMember && [...this.#children.values()].every((child) => child.isEmpty);
  }

  insert(path: readonly string[]): void {
    if (path.length === 0) return;
    let here: FieldSet = this;
    for (const element of path) here = here.#child(element);
    here.#isMember = true;
  }

  #child(element: string): FieldSet {
    const known = this.#children.get(element);
    if (known) return known;
    const made = new FieldSet();
    this.#children.set(element, made);
    return made;
  }

  /** The subset below one element of a path. */
  below(element: string): FieldSet | undefined {
    return this.#children.get(element);
  }

  get isMember(): boolean {
    return this.#isMember;
  }

  entries(): IterableIterator<[string, FieldSet]> {
    return this.#children.entries();
  }

  #combine(other: FieldSet | undefined, keep: (a: boolean, b: boolean) => boolean): FieldSet {
    const made = new FieldSet();
    made.#isMember = keep(this.#isMember, other?.isMember ?? false);
    for (const element of new Set([...this.#children.keys(), ...(other ? other.#children.keys() : [])])) {
      const mine = this.#children.get(element) ?? new FieldSet();
      const child = mine.#combine(other?.below(element), keep);
      if (!child.isEmpty) made.#children.set(element, child);
    }
    return made;
  }

  union(other: FieldSet): FieldSet {
    return this.#combine(other, (a, b) => a || b);
  }

  intersection(other: FieldSet): FieldSet {
    return this.#combine(other, (a, b) => a && b);
  }

  difference(other: FieldSet): FieldSet {
    return this.#combine(other, (a, b) => a && !b);
  }

  /** The set without a path and everything below it. */
  without(path: readonly string[]): FieldSet {
    const [first, ...rest] = path;
    const made = this.#combine(undefined, (a) => a);
    if (first === undefined) return new FieldSet();
    const child = made.#children.get(first);
    if (!child) return made;
    const left = child.without(rest);
    if (left.isEmpty) made.#children.delete(first);
    else made.#children.set(first, left);
    return made;
  }

  equals(other: FieldSet): boolean {
    return canonicalJson(this.toJson()) === canonicalJson(other.toJson());
  }

  /** Every path in the set. */
  *paths(prefix: readonly string[] = []): Generator<readonly string[]> {
    if (this.#isMember && prefix.length > 0) yield prefix;
    for (const element of [...this.#children.keys()].sort()) {
      yield* this.#children.get(element)?.paths([...prefix, element]) ?? [];
    }
  }
}

/** A path in the notation of messages: `.spec.list[name="a"].value`. */
export const formatFieldPath = (path: readonly string[]): string =>
  path
    .map((element) => {
      const rest = element.slice(2);
      if (element.startsWith('f:')) return `.${rest}`;
      if (element.startsWith('v:')) return `[=${rest}]`;
      const keys = JSON.parse(rest) as JsonObject;
      const parts = Object.keys(keys)
        .sort()
        .map((key) => `${key}=${JSON.stringify(keys[key])}`);
      return `[${parts.join(',')}]`;
    })
    .join('');
