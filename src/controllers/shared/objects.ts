import { isProviderFinalizer, openmcpKeys } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isNotFound, isObjectNotFound } from '../../kube/errors.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../kube/resource.ts';
import { createMergePatch } from '../../lib/merge-patch.ts';

interface ObjectWithStatus extends KubeObject {
  status?: object;
}

/**
 * Tells in the status how an object stands, if that differs from what it carries. Returns the object as it is then, or
 * `undefined` where nothing was written. With `locked` only if nobody wrote meanwhile: for a status that others write as well,
 * whose word would be lost. The cache may still show an object that is gone: nobody is left to be told.
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
 * The same for a status that something depends on: it is written when this returns, or this throws. Returns the object as
 * it is then, or `undefined` where there was nothing to write.
 */
export async function patchStatus<T extends ObjectWithStatus>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  status: NonNullable<T['status']>,
  signal: AbortSignal,
  { locked = false } = {},
): Promise<T | undefined> {
  const patch = createMergePatch({ ...object.status }, { ...status });
  if (!patch) return undefined;
  const { resourceVersion } = object.metadata;
  const lock = locked && resourceVersion ? { resourceVersion } : {};
  return await kube.merge(type, objectKeyOf(object), { status: patch }, { subresource: 'status', ...lock }, signal);
}

/**
 * Puts our finalizer on the object and returns it as it is then, or `undefined` where it has gone meanwhile. The whole list
 * is replaced under an optimistic lock, so that a finalizer which somebody else adds at the same moment is not lost.
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

/** Takes our finalizer off; others stay. The cache may still show an object that is gone: it holds nobody up. */
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

/** Whether an object, and what is made for it, is to be left alone. */
export const hasIgnoreOperation = (object: KubeObject | undefined): boolean =>
  object?.metadata.annotations?.[openmcpKeys.operation] === 'ignore';

export interface ConsumedOperation<T extends KubeObject> {
  readonly operation: 'ignore' | 'reconcile' | undefined;
  /** As it is once the annotation is off: under the older version every locked write of the same reconcile would conflict. */
  readonly object: T;
}

/** What the operation annotation asks for. `reconcile` is taken off as the contract wants it. */
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
 * Whether a change is more than what we wrote ourselves in passing: our status, or our finalizer being put on. Everything
 * that people and other controllers write counts: spec, deletion, labels, annotations, finalizers.
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

/** Labels and annotations that the contract hands down from a Cluster to what is made for it. */
export function inheritedMetadata(values: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => key.startsWith(openmcpKeys.metadataPrefix)));
}
