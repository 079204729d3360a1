import { isProviderFinalizer, openmcpKeys } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isNotFound, isObjectNotFound } from '../../kube/errors.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../kube/resource.ts';
import { createMergePatch } from '../../lib/merge-patch.ts';
import { latestVersion, recordWrite } from './status-writes.ts';

interface ObjectWithStatus extends KubeObject {
  status?: object;
}

/**
 * Writes the status of an object if it differs. Returns the updated object, or `undefined` if nothing was written.
 * `locked`: the write fails if the object has changed, for a status with other writers. `otherFields`: the fields of
 * another writer, which stay as they are. An object that no longer exists, but is still in the cache, is ignored.
 */
export async function patchStatusIfExists<T extends ObjectWithStatus>(
  ...[kube, type, object, status, signal, options]: Parameters<typeof patchStatus<T>>
): Promise<T | undefined> {
  try {
    return await patchStatus(kube, type, object, status, signal, options);
  } catch (error) {
    if (isObjectNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The same for a status that other code depends on: it is written when this returns; otherwise this throws. Returns the
 * updated object, or `undefined` if there was nothing to write.
 */
export async function patchStatus<T extends ObjectWithStatus>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  status: NonNullable<T['status']>,
  signal: AbortSignal,
  { locked = false, otherFields = [] }: { readonly locked?: boolean; readonly otherFields?: readonly string[] } = {},
): Promise<T | undefined> {
  const latest = await latestVersion(kube, type, object, signal);
  const isOwn = ([field]: [string, unknown]) => !otherFields.includes(field);
  const own = (all: object | undefined) => Object.fromEntries(Object.entries(all ?? {}).filter(isOwn));
  const patch = createMergePatch(own(latest.status), own(status));
  if (!patch) return undefined;
  const { resourceVersion } = object.metadata;
  const lock = locked && resourceVersion ? { resourceVersion } : {};
  return await recordWrite(kube, type, object, () =>
    kube.merge(type, objectKeyOf(object), { status: patch }, { subresource: 'status', ...lock }, signal),
  );
}

/**
 * Adds our finalizer and returns the updated object, or `undefined` if it no longer exists. The whole list is replaced
 * with an optimistic lock, so that a finalizer that is added concurrently is not lost.
 */
export async function ensureFinalizer<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
  signal: AbortSignal,
): Promise<T | undefined> {
  const present = object.metadata.finalizers ?? [];
  if (present.includes(finalizer)) return object;
  try {
    return await replaceFinalizers(kube, type, object, [...present, finalizer], signal);
  } catch (error) {
    if (isObjectNotFound(error)) return undefined;
    throw error;
  }
}

/** Removes our finalizer; others stay. An object that no longer exists, but is still in the cache, is ignored. */
export async function removeFinalizer<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
  signal: AbortSignal,
): Promise<void> {
  const present = object.metadata.finalizers ?? [];
  if (!present.includes(finalizer)) return;
  const left = present.filter((name) => name !== finalizer);
  try {
    await replaceFinalizers(kube, type, object, left, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function replaceFinalizers<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizers: string[],
  signal: AbortSignal,
): Promise<T> {
  const lock = object.metadata.resourceVersion ? { resourceVersion: object.metadata.resourceVersion } : {};
  return await kube.merge(type, objectKeyOf(object), { metadata: { finalizers } }, lock, signal);
}

/** Whether the operation annotation excludes an object and its dependents from reconciling. */
export const hasIgnoreOperation = (object: KubeObject | undefined): boolean =>
  object?.metadata.annotations?.[openmcpKeys.operation] === 'ignore';

/** Sets annotations of a Cluster, or removes those that are null. Returns the Cluster with them. */
export async function annotateCluster(
  { kube }: { readonly kube: KubeClient },
  cluster: Cluster,
  notes: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<Cluster> {
  const patch = { metadata: { annotations: notes } };
  const { metadata } = await kube.merge(Cluster, objectKeyOf(cluster), patch, {}, signal);
  return { ...cluster, metadata };
}

export interface ConsumedOperation<T extends KubeObject> {
  readonly operation: 'ignore' | 'reconcile' | undefined;
  /**
   * The object after the removal of the annotation: with its earlier version, every locked write of the same reconcile
   * would conflict.
   */
  readonly object: T;
}

/** Returns the requested operation. The annotation `reconcile` is removed, as the contract requires. */
export async function consumeOperation<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  signal: AbortSignal,
): Promise<ConsumedOperation<T>> {
  if (hasIgnoreOperation(object)) return { operation: 'ignore', object };
  if (object.metadata.annotations?.[openmcpKeys.operation] !== 'reconcile') return { operation: undefined, object };
  const patch = { metadata: { annotations: { [openmcpKeys.operation]: null } } };
  return { operation: 'reconcile', object: await kube.merge(type, objectKeyOf(object), patch, {}, signal) };
}

/**
 * Whether a change is more than our own routine writes: the status, or the addition of our finalizer. All changes of
 * users and other controllers count: spec, deletion, labels, annotations, finalizers.
 */
export function changedBeyondStatus(change: ObjectChange<KubeObject>): boolean {
  if (change.kind !== 'updated' || !change.before) return true;
  const added = change.object.metadata.finalizers?.filter(isProviderFinalizer) ?? [];
  return fingerprint(change.before, added) !== fingerprint(change.object, added);
}

function fingerprint({ metadata }: KubeObject, added: readonly string[]): string {
  const { generation, deletionTimestamp, labels, annotations, uid } = metadata;
  const held = [...new Set([...(metadata.finalizers ?? []), ...added])].sort();
  return JSON.stringify([uid, generation, deletionTimestamp, labels, annotations, held]);
}

/** Labels and annotations that the contract propagates from a Cluster to its dependent objects. */
export function inheritedMetadata(values: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => key.startsWith(openmcpKeys.metadataPrefix)));
}
