import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../kube/resource.ts';
import { LruMap } from '../../lib/lru-map.ts';

/** Maximum number of objects. An evicted object is compared with the cache, which has caught up long since. */
const maxObjects = 1000;

/** The object after our last write; `unknown`: the API server may or may not have made the change. */
type LastWrite = KubeObject | 'unknown';

const writesByClient = new WeakMap<KubeClient, LruMap<string, LastWrite>>();

function writesOf(kube: KubeClient): LruMap<string, LastWrite> {
  const known = writesByClient.get(kube) ?? new LruMap<string, LastWrite>(maxObjects);
  writesByClient.set(kube, known);
  return known;
}

const writeKey = (type: ResourceType, { metadata }: KubeObject): string => `${type.plural}/${metadata.uid}`;

/**
 * Makes a write, and records its result for {@link latestVersion}. A write without a response may have succeeded.
 */
export async function recordWrite<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  write: () => Promise<T>,
): Promise<T> {
  const writes = writesOf(kube);
  try {
    const written = await write();
    writes.set(writeKey(type, object), written);
    return written;
  } catch (error) {
    if (!isRejection(error)) writes.set(writeKey(type, object), 'unknown');
    throw error;
  }
}

/**
 * The newest known version of a cached object: our own last write while the cache lags behind, and the object itself,
 * read from the API server, after a write without a response. A status must not be compared with an older version: it
 * would stay wrong on the API server, because changes of the status alone trigger no reconcile.
 */
export async function latestVersion<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  cached: T,
  signal: AbortSignal,
): Promise<T> {
  if (writesOf(kube).get(writeKey(type, cached)) === 'unknown')
    return await recordWrite(kube, type, cached, () => readStatus(kube, type, cached, signal));
  return newestKnown(kube, type, cached);
}

/**
 * The same without a call: after a write without a response, the cached object. What a reconcile reports as a change,
 * such as an Event for a new reason, must be compared with this: the cache would report the change again.
 */
export function newestKnown<T extends KubeObject>(kube: KubeClient, type: ResourceType<T>, cached: T): T {
  const writes = writesOf(kube);
  const key = writeKey(type, cached);
  const last = writes.get(key);
  if (last === undefined || last === 'unknown') return cached;
  if (isNewer(last, cached)) return last as T;
  writes.delete(key);
  return cached;
}

/** An empty patch changes nothing and returns the object. The provider may patch a status, and may not get it. */
const readStatus = <T extends KubeObject>(kube: KubeClient, type: ResourceType<T>, cached: T, signal: AbortSignal) =>
  kube.merge(type, objectKeyOf(cached), {}, { subresource: 'status' }, signal);

/** The API server has answered that it did not make the change. */
const isRejection = (error: unknown): boolean =>
  error instanceof KubeError && error.status >= 400 && error.status < 500;

/** Resource versions of one object are comparable integers (KEP-5504). */
const isNewer = (one: KubeObject, other: KubeObject): boolean =>
  Number(one.metadata.resourceVersion) > Number(other.metadata.resourceVersion);
