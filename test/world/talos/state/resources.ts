import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';

/** A resource of a node's state. `spec` becomes the YAML that clients parse. */
export interface CosiResource {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly spec: unknown;
  /** Protobuf form, for the few types whose clients read no other. */
  readonly proto?: Uint8Array;
  readonly version: number;
  readonly created: Date;
  readonly updated: Date;
  readonly labels: Readonly<Record<string, string>>;
}

export type CosiEvent =
  | { readonly kind: 'created'; readonly resource: CosiResource }
  | { readonly kind: 'updated'; readonly resource: CosiResource; readonly old: CosiResource }
  | { readonly kind: 'destroyed'; readonly resource: CosiResource };

/** The arguments of `put` besides the address of the resource. */
export interface PutOptions {
  readonly proto?: Uint8Array;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A node's COSI state in memory: every API answer is read from here, and every change of the node is written here. */
export class CosiState {
  readonly #items = new Map<string, CosiResource>();
  readonly #listeners = new Set<(event: CosiEvent) => void>();

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
    };
    this.#items.set(key, resource);
    this.#tell(old ? { kind: 'updated', resource, old } : { kind: 'created', resource });
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
    const resource = this.#items.get(keyOf(namespace, type, id));
    if (!resource) return;
    this.#items.delete(keyOf(namespace, type, id));
    this.#tell({ kind: 'destroyed', resource });
  }

  /** Deletes all other ids of a type. */
  keepOnly(namespace: string, type: string, ids: readonly string[]): void {
    for (const item of this.list(namespace, type)) if (!ids.includes(item.id)) this.remove(namespace, type, item.id);
  }

  onEvent(listener: (event: CosiEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(event: CosiEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** The YAML form of a spec, with four spaces as Go's emitter writes it. */
export const yamlOf = (resource: Pick<CosiResource, 'spec'>): string =>
  stringify(resource.spec, { indent: 4, lineWidth: 0 });

const keyOf = (namespace: string, type: string, id: string): string => `${namespace}\n${type}\n${id}`;
