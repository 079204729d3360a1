import type { ReadStamp } from './read-stamp.ts';

/** Events of our own call follow its answer within this time. */
const echoMs = 5000;
/** The same for a guest shutdown, which takes longer. */
const stopEchoMs = 120_000;

interface OwnWrite {
  /** The version of the last change of the object by this process. */
  readonly version: number;
  /** By the monotonic clock. */
  readonly at: number;
  /** Until then events of the object count as ours. */
  readonly echoUntil: number;
}
/** A change is forgotten after this time, when all reads before it are too old. */
const keepMs = 60_000;

/** An object, e.g. `vm.query 5` or `pool.dataset.query tank/vms/a`. */
export const objectKey = (collection: string, id: unknown): string => `${collection} ${id}`;
export const vmKey = (id: number): string => objectKey('vm.query', id);
export const datasetKey = (id: string): string => objectKey('pool.dataset.query', id);
export const fileKey = (path: string): string => objectKey('file', path);

/**
 * The changes of one system by this process. TrueNAS has no resource version: an event does not name its change, so
 * events of our own changes are recognised by object and time.
 */
export class OwnWrites {
  readonly #writes = new Map<string, OwnWrite>();

  /** A change of the objects begins. */
  begin(keys: readonly string[], { version, at }: ReadStamp): void {
    for (const key of keys) this.#writes.set(key, { version, at, echoUntil: Number.POSITIVE_INFINITY });
  }

  /** It has ended, well or not. */
  end(method: string, keys: readonly string[], { version, at }: ReadStamp): void {
    for (const [key, write] of this.#writes) {
      if (write.at < at - keepMs && write.echoUntil < at) this.#writes.delete(key);
    }
    const echoUntil = at + (method === 'vm.stop' ? stopEchoMs : echoMs);
    for (const key of keys) this.#writes.set(key, { version, at, echoUntil });
  }

  /** The object was changed by a call about another one, which sends no event about it. */
  mark(key: string, { version, at }: ReadStamp): void {
    const echoUntil = this.#writes.get(key)?.echoUntil ?? Number.NEGATIVE_INFINITY;
    this.#writes.set(key, { version, at, echoUntil });
  }

  /** True when an event of the object may belong to one of our changes. */
  isEcho(key: string, now: number): boolean {
    return relatedKeys(key).some((one) => now <= (this.#writes.get(one)?.echoUntil ?? Number.NEGATIVE_INFINITY));
  }

  /** The version of the last change that concerns the object; 0 when there is none. */
  versionOf(key: string): number {
    return Math.max(0, ...relatedKeys(key).map((one) => this.#writes.get(one)?.version ?? 0));
  }

  /** The same for the dataset with everything below it. */
  versionBelow(key: string): number {
    let last = this.versionOf(key);
    for (const [one, { version }] of this.#writes) if (one.startsWith(`${key}/`)) last = Math.max(last, version);
    return last;
  }
}

/**
 * The objects of a call. Deleting a machine also deletes its devices, whose ids are unknown here; deleting a dataset
 * also deletes its descendants. A new virtual machine or device has no id before the answer.
 */
export function writtenKeys(method: string, [about]: readonly unknown[]): string[] {
  if (method === 'pool.dataset.create') return [datasetKey(String((about as { readonly name?: unknown }).name))];
  if (typeof about !== 'number' && typeof about !== 'string') return [];
  if (method === 'filesystem.put') return [fileKey(String(about))];
  const own = objectKey(`${method.slice(0, method.lastIndexOf('.'))}.query`, about);
  if (method === 'vm.delete') return [own, objectKey('vm.device.query', anyId)];
  return method === 'pool.dataset.delete' ? [own, `${own}/`] : [own];
}

const anyId = '*';

/** The keys by which one of our changes can concern the object: its own, and those of what it belongs to. */
function relatedKeys(key: string): string[] {
  const above = [...key.matchAll(/\//g)].map(({ index }) => key.slice(0, index + 1));
  return [key, objectKey(key.slice(0, key.indexOf(' ')), anyId), ...above];
}
