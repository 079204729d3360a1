import { randomUUID } from 'node:crypto';
import { type ApiResource, builtinResources } from '../builtin/resources.ts';
import { expiredError } from '../errors.ts';
import { clone } from '../json.ts';

/** An object as stored and sent. A returned object is never changed in place. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ApiMeta;
  [field: string]: unknown;
}

export interface ApiMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: ApiOwnerReference[];
  managedFields?: ManagedFields[];
}

export interface ApiOwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFields {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time?: string;
  fieldsType: 'FieldsV1';
  fieldsV1: Record<string, unknown>;
  subresource?: string;
}

/** Identifies an object from inside the process. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface StoreChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The table, e.g. `secrets` or `clusters.openmcp.cloud/clusters`. */
  readonly storage: string;
  readonly revision: number;
  /** After the change; for DELETED the last state, with the revision of the deletion. */
  readonly object: ApiObject;
  readonly before: ApiObject | undefined;
}

/** Everything in a store at one revision, in a form that JSON can hold. */
export interface StoreContent {
  readonly revision: number;
  /** Objects by table. */
  readonly tables: Readonly<Record<string, readonly ApiObject[]>>;
}

/** Access to the "etcd" for other simulators in the process: no authentication, no admission, no schema. */
export interface KubeStore {
  readonly revision: number;
  /** False: every request fails as if etcd had no leader (500, /readyz 500). */
  available: boolean;
  /** Creates or replaces the whole object, status included; uid, creationTimestamp and resourceVersion are set. */
  put(object: { apiVersion: string; kind: string; metadata: ApiMeta; [field: string]: unknown }): ApiObject;
  get(ref: ObjectRef): ApiObject | undefined;
  list(ref: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string }): ApiObject[];
  /** Removes at once and ignores finalizers. False: the object did not exist. */
  remove(ref: ObjectRef): boolean;
  /** Called after each change, in order. Listeners must not throw. */
  onChange(listener: (change: StoreChange) => void): () => void;
  /** Drops the history up to `revision` (default: all of it), so that older watches and pages get 410. */
  compact(revision?: number): void;
  dump(): StoreContent;
  /**
   * Replaces everything, as the restore of a snapshot does: revisions go back, and no watch reaches across. Listeners see
   * what differs.
   */
  load(content: StoreContent): void;
}

export const nowSeconds = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** The store's interface for the API server. All of it is synchronous: a write is atomic. */
export class ObjectStorage implements KubeStore {
  available = true;
  #revision = 1;
  #compacted = 0;
  #tables = new Map<string, Map<string, ApiObject>>();
  #history: StoreChange[] = [];
  #listeners = new Set<(change: StoreChange) => void>();
  readonly #historyLimit: number;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The lowest revision at which watches and lists may start. */
  get compacted(): number {
    return this.#compacted;
  }

  read(storage: string, namespace: string | undefined, name: string): ApiObject | undefined {
    return this.#tables.get(storage)?.get(keyOf(namespace, name));
  }

  /** All objects of a table in key order, optionally of one namespace. */
  all(storage: string, namespace?: string): ApiObject[] {
    return sorted(this.#tables.get(storage) ?? new Map(), namespace);
  }

  /** The names of all tables that ever had an object. */
  tables(): string[] {
    return [...this.#tables.keys()];
  }

  /** The table at `revision`. Throws 410 when the history does not reach back that far. */
  allAt(storage: string, revision: number, namespace?: string): ApiObject[] {
    if (revision < this.#compacted) {
      throw expiredError('The provided resource version is too old to display a consistent list result.');
    }
    const table = new Map(this.#tables.get(storage));
    for (const change of this.#history.toReversed()) {
      if (change.revision <= revision) break;
      if (change.storage !== storage) continue;
      const { namespace: where, name } = change.object.metadata;
      if (change.before) table.set(keyOf(where, name), change.before);
      else table.delete(keyOf(where, name));
    }
    return sorted(table, namespace);
  }

  /** Changes after `revision`, in order, or undefined when some of them were dropped. */
  since(revision: number): StoreChange[] | undefined {
    return revision < this.#compacted ? undefined : this.#history.filter((change) => change.revision > revision);
  }

  /** Creates or replaces. The store takes the object over; the caller must not change it afterwards. */
  write(storage: string, object: ApiObject): ApiObject {
    const table = this.#table(storage);
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const before = table.get(key);
    this.#revision += 1;
    object.metadata.resourceVersion = String(this.#revision);
    table.set(key, object);
    this.#record({ type: before ? 'MODIFIED' : 'ADDED', storage, revision: this.#revision, object, before });
    return object;
  }

  erase(storage: string, namespace: string | undefined, name: string): ApiObject | undefined {
    const before = this.#table(storage).get(keyOf(namespace, name));
    if (!before) return undefined;
    this.#table(storage).delete(keyOf(namespace, name));
    this.#revision += 1;
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(this.#revision) } };
    this.#record({ type: 'DELETED', storage, revision: this.#revision, object, before });
    return object;
  }

  put(given: ApiObject): ApiObject {
    const storage = this.#storageOf(given.apiVersion, given.kind);
    const { namespace, name } = given.metadata;
    const before = this.read(storage, namespace, name);
    const object = clone(given);
    object.metadata = {
      ...object.metadata,
      uid: before?.metadata.uid ?? object.metadata.uid ?? randomUUID(),
      creationTimestamp: before?.metadata.creationTimestamp ?? object.metadata.creationTimestamp ?? nowSeconds(),
    };
    return clone(this.write(storage, object));
  }

  get(ref: ObjectRef): ApiObject | undefined {
    return clone(this.read(this.#storageOf(ref.apiVersion, ref.kind), ref.namespace, ref.name));
  }

  list(ref: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string }): ApiObject[] {
    return clone(this.all(this.#storageOf(ref.apiVersion, ref.kind), ref.namespace));
  }

  remove(ref: ObjectRef): boolean {
    return this.erase(this.#storageOf(ref.apiVersion, ref.kind), ref.namespace, ref.name) !== undefined;
  }

  onChange(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  compact(revision = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  dump(): StoreContent {
    const tables = [...this.#tables].map(([name, table]) => [name, [...table.values()]] as const);
    return clone({ revision: this.#revision, tables: Object.fromEntries(tables) });
  }

  load(content: StoreContent): void {
    const { revision, tables } = clone(content) as StoreContent;
    const former = this.#tables;
    this.#tables = new Map(
      Object.entries(tables).map(([name, objects]) => [
        name,
        new Map(objects.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object])),
      ]),
    );
    this.#revision = revision;
    this.#compacted = revision;
    this.#history = [];
    for (const change of differencesOf(former, this.#tables, revision))
      for (const listener of [...this.#listeners]) listener(change);
  }

  #table(storage: string): Map<string, ApiObject> {
    const known = this.#tables.get(storage);
    if (known) return known;
    const made = new Map<string, ApiObject>();
    this.#tables.set(storage, made);
    return made;
  }

  #record(change: StoreChange): void {
    this.#history.push(change);
    // Cut in large blocks, so that a write stays cheap.
    if (this.#history.length > this.#historyLimit * 2) {
      this.compact(this.#history[this.#history.length - this.#historyLimit - 1]?.revision ?? 0);
    }
    for (const listener of [...this.#listeners]) listener(change);
  }

  #storageOf(apiVersion: string, kind: string): string {
    const known = builtinResources.find((resource) => isKind(resource, apiVersion, kind));
    if (known) return known.storage;
    throw new Error(`The world's Kubernetes knows no kind ${kind} of ${apiVersion}.`);
  }
}

const isKind = (resource: ApiResource, apiVersion: string, kind: string): boolean =>
  resource.kind === kind &&
  apiVersion === (resource.group ? `${resource.group}/${resource.version}` : resource.version);

type Tables = ReadonlyMap<string, ReadonlyMap<string, ApiObject>>;

function differencesOf(former: Tables, present: Tables, revision: number): StoreChange[] {
  const changes: StoreChange[] = [];
  for (const storage of new Set([...former.keys(), ...present.keys()])) {
    const [before, after] = [former.get(storage), present.get(storage)];
    for (const key of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
      const [was, is] = [before?.get(key), after?.get(key)];
      if (was?.metadata.resourceVersion === is?.metadata.resourceVersion) continue;
      const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
      const object = is ?? was;
      if (object) changes.push({ type, storage, revision, object, before: was });
    }
  }
  return changes;
}

function sorted(table: ReadonlyMap<string, ApiObject>, namespace: string | undefined): ApiObject[] {
  const keys = [...table.keys()].filter((key) => namespace === undefined || key.startsWith(`${namespace}/`));
  return keys.sort().flatMap((key) => table.get(key) ?? []);
}

/** A new, empty "etcd". `history` is the minimum number of changes that watches can reach back. */
export function createKubeStore(options: { readonly history?: number } = {}): KubeStore {
  return new ObjectStorage(options.history ?? 10_000);
}

/** The internal interface of a store of {@link createKubeStore}. */
export function objectStorageOf(store: KubeStore): ObjectStorage {
  if (!(store instanceof ObjectStorage)) throw new TypeError('The store was not made by createKubeStore().');
  return store;
}
