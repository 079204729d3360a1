import { EventEmitter, on } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';

/** A resource of a node's state. `spec` becomes the YAML that clients parse. */
export interface CosiResource {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly spec: unknown;
  /** Protobuf form, where it does not follow from `spec` (`spec-protobuf.ts`). */
  readonly proto?: Uint8Array;
  readonly version: number;
  readonly created: Date;
  readonly updated: Date;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The arguments of `put` besides the address of the resource. */
export interface PutOptions {
  readonly proto?: Uint8Array;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A change of one resource. `old`: before an update. */
export interface ResourceChange {
  readonly type: 'CREATED' | 'UPDATED' | 'DESTROYED';
  readonly resource: CosiResource;
  readonly old?: CosiResource;
}

/** A node's COSI state in memory: every API answer is read from here, and every change of the node is written here. */
export class CosiState {
  readonly #items = new Map<string, CosiResource>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** Creates or updates; an equal spec changes nothing. */
  put(namespace: string, type: string, id: string, spec: unknown, options: PutOptions = {}): CosiResource {
    const key = keyOf(namespace, type, id);
    const old = this.#items.get(key);
    // Equal specs need no YAML, which is slow; different specs may still have the same YAML.
    if (old && (isDeepStrictEqual(old.spec, spec) || yamlOf(old) === yamlOf({ spec }))) return old;
    const now = new Date();
    const resource: CosiResource = {
      namespace,
      type,
      id,
      spec,
      ...(options.proto ? { proto: options.proto } : {}),
      version: (old?.version ?? 0) + 1,
      created: old?.created ?? now,
      updated: now,
      labels: options.labels ?? old?.labels ?? {},
      ...(options.annotations ? { annotations: options.annotations } : {}),
    };
    this.#items.set(key, resource);
    this.#emit(key, old ? { type: 'UPDATED', resource, old } : { type: 'CREATED', resource });
    return resource;
  }

  get(namespace: string, type: string, id: string): CosiResource | undefined {
    return this.#items.get(keyOf(namespace, type, id));
  }

  list(namespace: string, type: string): CosiResource[] {
    return [...this.#items.values()]
      .filter((item) => item.namespace === namespace && item.type === type)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  remove(namespace: string, type: string, id: string): void {
    const key = keyOf(namespace, type, id);
    const resource = this.#items.get(key);
    this.#items.delete(key);
    if (resource) this.#emit(key, { type: 'DESTROYED', resource });
  }

  /** The changes of one resource from now on, until the signal. */
  async *watch(namespace: string, type: string, id: string, signal: AbortSignal): AsyncGenerator<ResourceChange> {
    try {
      for await (const [change] of on(this.#changes, keyOf(namespace, type, id), { signal })) yield change;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Deletes all other ids of a type. */
  keepOnly(namespace: string, type: string, ids: readonly string[]): void {
    for (const item of this.list(namespace, type)) if (!ids.includes(item.id)) this.remove(namespace, type, item.id);
  }

  #emit(key: string, change: ResourceChange): void {
    this.#changes.emit(key, change);
  }
}

/** The YAML form of a spec, with four spaces as Go's emitter writes it. */
export const yamlOf = (resource: Pick<CosiResource, 'spec'>): string =>
  stringify(resource.spec, { indent: 4, lineWidth: 0 });

const keyOf = (namespace: string, type: string, id: string): string => `${namespace}\n${type}\n${id}`;
