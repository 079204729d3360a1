import { randomUUID } from 'node:crypto';
import { trackUpdate } from '../apply/track-update.ts';
import { checkEscalation } from '../auth/escalation.ts';
import type { ApiResource, Subresource } from '../builtin/resources.ts';
import { definitionErrors, definitionWarnings, prepareDefinition } from '../definitions/definition-rules.ts';
import {
  ApiError,
  alreadyExistsError,
  badRequestError,
  conflictError,
  fieldErrors,
  forbiddenError,
  notFoundError,
  staleVersionError,
  throwIfFieldErrors,
} from '../errors.ts';
import { asArray, asObject, clone, equal, sortKeys } from '../json.ts';
import { fieldManagerOf, isDryRun, type RequestContext } from '../request/context.ts';
import { rememberDefaults, viewThroughResource } from '../request/object-view.ts';
import { builtinKindErrors, prepareCreate, prepareUpdate } from '../validation/builtin-rules.ts';
import { customResourceErrors } from '../validation/custom-resource.ts';
import { metadataErrors } from '../validation/metadata.ts';
import { randomSuffix } from '../validation/names.ts';
import { type ApiObject, nowSeconds } from './store.ts';

/** One object, by the path of the request. */
export interface ObjectTarget {
  readonly resource: ApiResource;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: Subresource | '';
}

export interface WriteResult {
  readonly object: ApiObject;
  readonly created: boolean;
}

/** The field ownership of a write; apply has its own. */
export type TrackFieldOwners = (old: ApiObject | undefined, next: ApiObject) => void;

const updateTracker =
  (context: RequestContext, target: Pick<ObjectTarget, 'resource' | 'subresource'>): TrackFieldOwners =>
  (old, next) => {
    trackUpdate(target.resource, old, next, { manager: fieldManagerOf(context), subresource: target.subresource });
  };

/** Creates an object. `object` is decoded, and the store takes it over. */
export function createObject(
  context: RequestContext,
  resource: ApiResource,
  namespace: string | undefined,
  object: ApiObject,
  track: TrackFieldOwners = updateTracker(context, { resource, subresource: '' }),
): ApiObject {
  const meta = object.metadata;
  if (resource.namespaced && meta.namespace && meta.namespace !== namespace) {
    throw badRequestError('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (meta.resourceVersion) throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
  if (!meta.name && meta.generateName) meta.name = `${meta.generateName.slice(0, 58)}${randomSuffix()}`;
  checkNamespace(context, resource, namespace, meta.name);
  object.metadata = {
    ...meta,
    ...(resource.namespaced && namespace ? { namespace } : {}),
    uid: randomUUID(),
    creationTimestamp: nowSeconds(),
    ...(resource.generation ? { generation: 1 } : {}),
  };
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const) {
    delete (object.metadata as unknown as Record<string, unknown>)[field];
  }
  if (!resource.namespaced) delete object.metadata.namespace;
  if (!resource.generation) delete object.metadata.generation;
  prepareCreate(resource, object);
  if (resource.kind === 'CustomResourceDefinition') prepareDefinition(object, undefined);
  validateObject(context, { resource, subresource: '' }, object, undefined);
  track(undefined, object);
  if (context.storage.read(resource.storage, object.metadata.namespace, object.metadata.name)) {
    throw alreadyExistsError(resource, object.metadata.name);
  }
  return validateAndStore(context, resource, object);
}

function checkNamespace(
  context: RequestContext,
  resource: ApiResource,
  namespace: string | undefined,
  name: string,
): void {
  if (!resource.namespaced || namespace === undefined) return;
  const home = context.storage.read('namespaces', undefined, namespace);
  if (!home) throw notFoundError({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
  if (!home.metadata.deletionTimestamp) return;
  throw forbiddenError(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

function validateObject(
  context: RequestContext,
  { resource, subresource }: Pick<ObjectTarget, 'resource' | 'subresource'>,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  const errors = metadataErrors(resource, object, old);
  if (resource.definition) errors.push(...customResourceErrors(resource, object, old, subresource));
  else errors.push(...builtinKindErrors(resource, object, old));
  if (resource.kind === 'CustomResourceDefinition' && !subresource) {
    errors.push(...definitionErrors(object, old));
    if (errors.length === 0) context.warnings.push(...definitionWarnings(object));
  }
  throwIfFieldErrors(resource, object.metadata.name ?? '', errors);
  checkEscalation(context, resource, object, old);
}

function validateAndStore(context: RequestContext, resource: ApiResource, object: ApiObject): ApiObject {
  if (!resource.definition) return storeObject(context, resource, object);
  // Go writes maps by their sorted keys.
  const sorted = sortKeys(object);
  rememberDefaults(sorted, resource.schema);
  return storeObject(context, resource, sorted);
}

function storeObject(context: RequestContext, resource: ApiResource, object: ApiObject): ApiObject {
  return isDryRun(context) ? object : context.storage.write(resource.storage, object);
}

export function readObject(context: RequestContext, target: ObjectTarget): ApiObject {
  const found = context.storage.read(target.resource.storage, target.namespace, target.name);
  if (!found) throw notFoundError(target.resource, target.name);
  return viewThroughResource(target.resource, found);
}

/** Options of an update besides the new state. */
export interface UpdateOptions {
  /** Default `patch`. A PUT brings the whole object, so a missing resourceVersion may be refused. */
  readonly by?: 'put' | 'patch' | 'apply';
  readonly track?: TrackFieldOwners;
}

/** Updates an object. `change` gets a copy that it may keep and returns the next state, decoded. */
export function updateObject(
  context: RequestContext,
  target: ObjectTarget,
  change: (old: ApiObject) => ApiObject,
  options: UpdateOptions = {},
): ApiObject {
  const { resource } = target;
  const stored = context.storage.read(resource.storage, target.namespace, target.name);
  if (!stored) throw notFoundError(resource, target.name);
  const old = viewThroughResource(resource, stored);
  const next = change(clone(old));
  checkIdentity(target, old, next, options.by ?? 'patch');
  const state = nextState(target, old, next);
  validateObject(context, target, state, old);
  (options.track ?? updateTracker(context, target))(old, state);
  if (sameState(old, state)) return old;
  if (isReadyToBeRemoved(resource, state)) return removeFinalized(context, resource, state);
  return validateAndStore(context, resource, state);
}

function checkIdentity(
  { resource, name, namespace }: ObjectTarget,
  old: ApiObject,
  next: ApiObject,
  by: 'put' | 'patch' | 'apply',
): void {
  const meta = next.metadata;
  if (meta.name && meta.name !== name) {
    throw badRequestError(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
  }
  if (resource.namespaced && meta.namespace && meta.namespace !== namespace) {
    throw badRequestError('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (meta.uid && meta.uid !== old.metadata.uid && by === 'patch') {
    throwIfFieldErrors(resource, name, [fieldErrors.invalid('metadata.uid', meta.uid, 'field is immutable')]);
  }
  if (meta.uid && meta.uid !== old.metadata.uid) {
    throw conflictError(
      resource,
      name,
      `Precondition failed: UID in precondition: ${meta.uid}, UID in object meta: ${old.metadata.uid}`,
    );
  }
  if (meta.resourceVersion && meta.resourceVersion !== old.metadata.resourceVersion)
    throw staleVersionError(resource, name);
  if (by === 'put' && !meta.resourceVersion && !resource.unconditionalUpdate) {
    throwIfFieldErrors(resource, name, [
      fieldErrors.invalidText('metadata.resourceVersion', '0', 'must be specified for an update'),
    ]);
  }
}

/** The next state with all read-only fields from the old one. */
function nextState({ resource, subresource }: ObjectTarget, old: ApiObject, next: ApiObject): ApiObject {
  const state = subresource ? subresourceState(resource, subresource, old, next) : mainState(resource, old, next);
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, resourceVersion } =
    old.metadata;
  state.metadata = {
    ...state.metadata,
    name: old.metadata.name,
    ...(old.metadata.namespace ? { namespace: old.metadata.namespace } : {}),
    ...(old.metadata.generateName ? { generateName: old.metadata.generateName } : {}),
    ...defined({ uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, resourceVersion }),
  };
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (old.metadata[field] === undefined) delete state.metadata[field];
  }
  if (resource.generation && !subresource && specChanged(resource, old, state)) {
    state.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  return state;
}

const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

function mainState(resource: ApiResource, old: ApiObject, next: ApiObject): ApiObject {
  const state = { ...next };
  if (resource.subresources.includes('status')) {
    if (old['status'] === undefined) delete state['status'];
    else state['status'] = old['status'];
  }
  prepareUpdate(resource, state, old);
  if (resource.kind === 'CustomResourceDefinition') prepareDefinition(state, old);
  return state;
}

function subresourceState(resource: ApiResource, subresource: string, old: ApiObject, next: ApiObject): ApiObject {
  if (subresource === 'finalize') return { ...old, spec: next['spec'] ?? {}, metadata: { ...next.metadata } };
  const state: ApiObject = { ...old, metadata: { ...old.metadata } };
  if (!resource.definition && subresource === 'status') {
    // Built-in kinds accept labels and annotations through their status subresource.
    state.metadata = { ...next.metadata, ...defined({ ownerReferences: old.metadata.ownerReferences }) };
  }
  state.metadata.managedFields = next.metadata.managedFields ?? [];
  if (next['status'] === undefined) delete state['status'];
  else state['status'] = next['status'];
  return state;
}

function specChanged(resource: ApiResource, old: ApiObject, next: ApiObject): boolean {
  const bare = ({ metadata: _metadata, apiVersion: _apiVersion, status, ...rest }: ApiObject): object =>
    resource.subresources.includes('status') ? rest : { ...rest, status };
  return !equal(bare(old), bare(next));
}

/** Whether only times in managedFields would change. */
function sameState(old: ApiObject, next: ApiObject): boolean {
  const bare = (object: ApiObject): ApiObject => ({
    ...object,
    metadata: {
      ...object.metadata,
      managedFields: (object.metadata.managedFields ?? []).map(({ time: _time, ...entry }) => entry),
    },
  });
  return equal(JSON.parse(JSON.stringify(bare(old))), JSON.parse(JSON.stringify(bare(next))));
}

const isReadyToBeRemoved = (resource: ApiResource, object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  !object.metadata.deletionGracePeriodSeconds &&
  (object.metadata.finalizers ?? []).length === 0 &&
  (resource.storage !== 'namespaces' || asArray(asObject(object['spec'])['finalizers']).length === 0);

/** The last finalizer was removed: the object is deleted in the same write. */
function removeFinalized(context: RequestContext, resource: ApiResource, state: ApiObject): ApiObject {
  if (!isDryRun(context)) context.storage.erase(resource.storage, state.metadata.namespace, state.metadata.name);
  return state;
}
