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

/** The arguments of `put` besides the address of the resource. */
export interface PutOptions {
  readonly proto?: Uint8Array;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A node's COSI state in memory: every API answer is read from here, and every change of the node is written here. */
export class CosiState {
  readonly #items = new Map<string, CosiResource>();

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
    this.#items.delete(keyOf(namespace, type, id));
  }

  /** Deletes all other ids of a type. */
  keepOnly(namespace: string, type: string, ids: readonly string[]): void {
    for (const item of this.list(namespace, type)) if (!ids.includes(item.id)) this.remove(namespace, type, item.id);
  }
}

/** The YAML form of a spec, with four spaces as Go's emitter writes it. */
export const yamlOf = (resource: Pick<CosiResource, 'spec'>): string =>
  stringify(resource.spec, { indent: 4, lineWidth: 0 });

const keyOf = (namespace: string, type: string, id: string): string => `${namespace}\n${type}\n${id}`;
