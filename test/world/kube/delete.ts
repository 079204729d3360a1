import type { Resource } from './builtin/resources.ts';
import { type Context, isDryRun } from './context.ts';
import { conflict, notFound } from './errors.ts';
import { asArray, asObject, asText, clone, type JsonObject } from './json.ts';
import type { Target } from './objects.ts';
import { present } from './present.ts';
import { type ApiObject, now } from './store.ts';

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: string;
  readonly dryRun: boolean;
}

/** Options come in the body or in the query. */
export function deleteOptions(context: Context, body: JsonObject): DeleteOptions {
  const preconditions = asObject(body['preconditions']);
  const orphan = body['orphanDependents'] ?? context.info.query.get('orphanDependents');
  const propagation =
    asText(body['propagationPolicy']) ||
    context.info.query.get('propagationPolicy') ||
    (String(orphan) === 'true' ? 'Orphan' : '');
  return {
    ...(preconditions['uid'] ? { uid: asText(preconditions['uid']) } : {}),
    ...(preconditions['resourceVersion'] ? { resourceVersion: asText(preconditions['resourceVersion']) } : {}),
    ...(propagation ? { propagation } : {}),
    dryRun: isDryRun(context) || asArray(body['dryRun']).includes('All'),
  };
}

/** What came of a deletion: gone at once, or the object that now waits for its finalizers. */
export interface Deleted {
  readonly gone: boolean;
  readonly object: ApiObject;
}

export function remove(context: Context, target: Target, options: DeleteOptions): Deleted {
  const { resource } = target;
  const stored = context.storage.read(resource.storage, target.namespace, target.name);
  if (!stored) throw notFound(resource, target.name);
  checkPreconditions(target, stored, options);
  const finalizers = finalizersFor(stored, options);
  const isNamespace = resource.storage === 'namespaces';
  if (finalizers.length === 0 && !isNamespace) {
    const object = options.dryRun ? stored : context.storage.erase(resource.storage, target.namespace, target.name);
    return { gone: true, object: present(resource, object ?? stored) };
  }
  const { deletionTimestamp, finalizers: before = [] } = stored.metadata;
  const isNew = deletionTimestamp === undefined;
  if (!isNew && before.length === finalizers.length) return { gone: false, object: present(resource, stored) };
  const next = markDeleted(resource, stored, finalizers, isNew);
  if (options.dryRun) return { gone: false, object: present(resource, next) };
  return { gone: false, object: present(resource, context.storage.write(resource.storage, next)) };
}

function checkPreconditions({ resource, name }: Target, stored: ApiObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = stored.metadata;
  if (options.uid && options.uid !== uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`,
    );
  }
  if (options.resourceVersion && options.resourceVersion !== resourceVersion) {
    throw conflict(
      resource,
      name,
      `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  }
}

/** The garbage collector does its part under finalizers of its own. */
function finalizersFor(stored: ApiObject, options: DeleteOptions): string[] {
  const own = (stored.metadata.finalizers ?? []).filter(
    (name) => !options.propagation || (name !== 'orphan' && name !== 'foregroundDeletion'),
  );
  if (options.propagation === 'Foreground') return [...own, 'foregroundDeletion'];
  return options.propagation === 'Orphan' ? [...own, 'orphan'] : own;
}

function markDeleted(resource: Resource, stored: ApiObject, finalizers: string[], isNew: boolean): ApiObject {
  const next = clone(stored);
  next.metadata.finalizers = finalizers;
  if (finalizers.length === 0) delete next.metadata.finalizers;
  if (isNew) {
    next.metadata.deletionTimestamp = now();
    next.metadata.deletionGracePeriodSeconds = 0;
    if (next.metadata.generation !== undefined) next.metadata.generation += 1;
  }
  if (resource.storage === 'namespaces') {
    delete next.metadata.deletionGracePeriodSeconds;
    next['status'] = { ...asObject(next['status']), phase: 'Terminating' };
  }
  return next;
}
