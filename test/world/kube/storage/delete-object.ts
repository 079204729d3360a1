import { checkDeletionPolicies } from '../auth/deletion-policies.ts';
import { conflictError, fieldErrors, forbiddenError, notFoundError, throwIfFieldErrors } from '../errors.ts';
import { asArray, asObject, asText, clone, type JsonObject } from '../json.ts';
import { isDryRun, type RequestContext } from '../request/context.ts';
import { viewThroughResource } from '../request/object-view.ts';
import { startGracefulDeletion } from './graceful-deletion.ts';
import { definitionStorage } from './resource-registry.ts';
import { type ApiObject, nowSeconds, type ObjectStorage } from './store.ts';
import type { ObjectTarget } from './write-object.ts';

/** Keeps a definition until all of its objects are deleted. The deletion of the definition adds it. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: string;
  /** Default: that of the Pod. Other kinds have none. */
  readonly gracePeriodSeconds?: number;
  readonly dryRun: boolean;
}

/** Options are in the body or in the query. */
export function parseDeleteOptions(context: RequestContext, body: JsonObject): DeleteOptions {
  const preconditions = asObject(body['preconditions']);
  const orphan = body['orphanDependents'] ?? context.info.query.get('orphanDependents');
  checkDryRun(body);
  const propagation =
    asText(body['propagationPolicy']) ||
    context.info.query.get('propagationPolicy') ||
    (String(orphan) === 'true' ? 'Orphan' : '');
  const grace = gracePeriodOf(context, body);
  if (!policies.includes(propagation)) {
    throwIfFieldErrors(deleteOptionsType, '', [
      fieldErrors.unsupported('propagationPolicy', propagation, policies.slice(1)),
    ]);
  }
  return {
    ...(preconditions['uid'] ? { uid: asText(preconditions['uid']) } : {}),
    ...(preconditions['resourceVersion'] ? { resourceVersion: asText(preconditions['resourceVersion']) } : {}),
    ...(propagation ? { propagation } : {}),
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    dryRun: isDryRun(context) || asArray(body['dryRun']).includes('All'),
  };
}

function gracePeriodOf(context: RequestContext, body: JsonObject): number | undefined {
  const given = body['gracePeriodSeconds'] ?? context.info.query.get('gracePeriodSeconds') ?? undefined;
  return given === undefined ? undefined : Math.trunc(Number(given));
}

const policies = ['', 'Foreground', 'Background', 'Orphan'];
const deleteOptionsType = { group: 'meta.k8s.io', plural: 'deleteoptions', kind: 'DeleteOptions' };

function checkDryRun(body: JsonObject): void {
  const odd = asArray(body['dryRun']).filter((value) => value !== 'All');
  throwIfFieldErrors(
    deleteOptionsType,
    '',
    odd.map((value) => fieldErrors.unsupported('dryRun', value, ['All'])),
  );
}

/** The result of a deletion: deleted, or the object that waits for its finalizers. */
export interface DeleteResult {
  readonly gone: boolean;
  readonly object: ApiObject;
}

const undeletableNamespaces = ['default', 'kube-public', 'kube-system'];

export function deleteObject(context: RequestContext, target: ObjectTarget, options: DeleteOptions): DeleteResult {
  const { resource } = target;
  const stored = context.storage.read(resource.storage, target.namespace, target.name);
  if (!stored) throw notFoundError(resource, target.name);
  if (resource.storage === 'namespaces' && undeletableNamespaces.includes(target.name)) {
    throw forbiddenError(resource, target.name, 'this namespace may not be deleted');
  }
  checkPreconditions(target, stored, options);
  checkDeletionPolicies(context, resource, stored);
  const { gone, object } = deleteStored(context.storage, resource.storage, stored, options);
  return { gone, object: viewThroughResource(resource, object) };
}

/** Deletes an object, or sets the deletionTimestamp of an object with finalizers. The caller has made all checks. */
export function deleteStored(
  storage: ObjectStorage,
  table: string,
  stored: ApiObject,
  options: Pick<DeleteOptions, 'propagation' | 'dryRun' | 'gracePeriodSeconds'>,
): DeleteResult {
  if (table === 'pods') {
    const next = startGracefulDeletion(stored, options.gracePeriodSeconds);
    if (next) return { gone: false, object: options.dryRun || next === stored ? next : storage.write(table, next) };
  }
  const { namespace, name, deletionTimestamp, finalizers: before = [] } = stored.metadata;
  const finalizers = finalizersFor(table, stored, options.propagation);
  if (finalizers.length === 0 && table !== 'namespaces') {
    const object = options.dryRun ? stored : storage.erase(table, namespace, name);
    return { gone: true, object: object ?? stored };
  }
  const isNew = deletionTimestamp === undefined;
  const isEnding = Boolean(stored.metadata.deletionGracePeriodSeconds);
  if (!isNew && !isEnding && before.length === finalizers.length) return { gone: false, object: stored };
  const next = markDeleted(table, stored, finalizers, isNew);
  return { gone: false, object: options.dryRun ? next : storage.write(table, next) };
}

export function checkPreconditions(
  { resource, name }: ObjectTarget,
  stored: ApiObject,
  options: Pick<DeleteOptions, 'uid' | 'resourceVersion'>,
): void {
  const { uid, resourceVersion } = stored.metadata;
  // This error names the kind; all others name the plural.
  const type = { ...resource, plural: resource.kind };
  if (options.uid && options.uid !== uid) {
    throw conflictError(
      type,
      name,
      `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  }
  if (options.resourceVersion && options.resourceVersion !== resourceVersion) {
    throw conflictError(
      type,
      name,
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
}

/** Under its own finalizers the garbage collector does the rest. */
function finalizersFor(table: string, stored: ApiObject, propagation: string | undefined): string[] {
  const own = (stored.metadata.finalizers ?? []).filter(
    (name) => !propagation || (name !== 'orphan' && name !== 'foregroundDeletion'),
  );
  if (table === definitionStorage && !own.includes(cleanupFinalizer)) own.push(cleanupFinalizer);
  if (propagation === 'Foreground') return [...own, 'foregroundDeletion'];
  return propagation === 'Orphan' ? [...own, 'orphan'] : own;
}

function markDeleted(table: string, stored: ApiObject, finalizers: string[], isNew: boolean): ApiObject {
  const next = clone(stored);
  next.metadata.finalizers = finalizers;
  if (finalizers.length === 0) delete next.metadata.finalizers;
  if (table === 'pods') next.metadata.deletionGracePeriodSeconds = 0;
  if (isNew) {
    next.metadata.deletionTimestamp = nowSeconds();
    next.metadata.deletionGracePeriodSeconds = 0;
    if (next.metadata.generation !== undefined) next.metadata.generation += 1;
  }
  if (table === 'namespaces') {
    delete next.metadata.deletionGracePeriodSeconds;
    next['status'] = { ...asObject(next['status']), phase: 'Terminating' };
  }
  return next;
}

/** Removes a finalizer; the last one deletes a terminating object. */
export function removeStoredFinalizer(
  storage: ObjectStorage,
  table: string,
  stored: ApiObject,
  finalizer: string,
): void {
  const left = (stored.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  const { namespace, name, deletionTimestamp } = stored.metadata;
  if (left.length === 0 && deletionTimestamp && table !== 'namespaces') {
    storage.erase(table, namespace, name);
    return;
  }
  const next = clone(stored);
  if (left.length > 0) next.metadata.finalizers = left;
  else delete next.metadata.finalizers;
  storage.write(table, next);
}
