import { apiVersionOfResource } from '../builtin/resources.ts';
import { ApiError, badRequestError, fieldErrors, invalidError } from '../errors.ts';
import { asObject, asText, equal, type JsonObject } from '../json.ts';
import { fieldManagerOf, type RequestContext } from '../request/context.ts';
import { decodeObject } from '../request/decode-object.ts';
import { truthy } from '../request/request-info.ts';
import { type ApiObject, nowSeconds } from '../storage/store.ts';
import {
  createObject,
  type ObjectTarget,
  readObject,
  updateObject,
  type WriteResult,
} from '../storage/write-object.ts';
import {
  type FieldManager,
  managerKey,
  ownableFields,
  parseManagers,
  serializeManagers,
  wholeSchema,
} from './field-managers.ts';
import { FieldSet, formatFieldPath } from './field-set.ts';
import { setManagers } from './track-update.ts';
import { checkTyped, compareTyped, fieldSetOf, mergeTyped, removeFields } from './typed-values.ts';

/** Server-side apply. Creates a missing object; throws 409 with a cause for each field with another owner. */
export function applyServerSide(context: RequestContext, target: ObjectTarget, config: JsonObject): WriteResult {
  const exists = context.storage.read(target.resource.storage, target.namespace, target.name) !== undefined;
  checkRequest(context, target, config, exists);
  if (exists) return applyToLive(context, target, config);
  if (target.subresource) readObject(context, target);
  const uid = asText(asObject(config['metadata'])['uid']);
  if (uid) {
    throw new ApiError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${target.resource.plural} "${target.name}": uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      { name: target.name, kind: target.resource.plural },
    );
  }
  return applyAsCreate(context, target, config);
}

function checkRequest(context: RequestContext, target: ObjectTarget, config: JsonObject, exists: boolean): void {
  const { resource, name, namespace, subresource } = target;
  if (!context.info.query.get('fieldManager')) {
    throw invalidError({ group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' }, '', [
      fieldErrors.required('fieldManager', 'is required for apply patch'),
    ]);
  }
  const wanted = apiVersionOfResource(resource);
  if (!config['kind'] || !config['apiVersion'])
    throw badRequestError(`Object 'Kind' is missing in '${JSON.stringify(config)}'`);
  if (config['apiVersion'] !== wanted) {
    throw badRequestError(
      `Incorrect version specified in apply patch. Specified patch version: ${String(config['apiVersion'])}, expected: ${wanted}`,
    );
  }
  const meta = asObject(config['metadata']);
  if (meta['managedFields'] !== undefined) throw badRequestError('metadata.managedFields must be nil');
  if (meta['name'] === undefined && !subresource && !exists) throw badRequestError('name must be provided');
  if (meta['name'] !== undefined && meta['name'] !== name) {
    throw badRequestError(
      `the name of the object (${asText(meta['name'])}) does not match the name on the URL (${name})`,
    );
  }
  const what = `${namespace ?? ''}/${name}; ${resource.group ? `${wanted}` : `/${wanted}`}, Kind=${resource.kind}`;
  checkTyped(wholeSchema(resource), config, what);
}

function applyAsCreate(context: RequestContext, target: ObjectTarget, config: JsonObject): WriteResult {
  const { resource, namespace, name } = target;
  const body = { ...config, metadata: { ...asObject(config['metadata']), name } };
  const object = decodeObject(context, resource, body, '');
  const owner = applyManagerOf(context, target, config);
  const track = (_old: ApiObject | undefined, next: ApiObject): void => {
    setManagers(next, serializeManagers(new Map([[managerKey(owner), owner]]), new Map(), managerKey(owner)));
  };
  return { object: createObject(context, resource, namespace, object, track), created: true };
}

function applyManagerOf(
  context: RequestContext,
  { resource, subresource }: ObjectTarget,
  config: JsonObject,
): FieldManager {
  return {
    manager: fieldManagerOf(context),
    operation: 'Apply',
    subresource,
    apiVersion: apiVersionOfResource(resource),
    time: undefined,
    fields: ownableFields(resource, subresource, fieldSetOf(wholeSchema(resource), config)),
  };
}

function applyToLive(context: RequestContext, target: ObjectTarget, config: JsonObject): WriteResult {
  const owner = applyManagerOf(context, target, config);
  const force = truthy(context.info.query.get('force'));
  let before: ReadonlyMap<string, FieldManager> = new Map();
  let after: ReadonlyMap<string, FieldManager> = new Map();
  // An apply without a change only adds an owner: it sets no time.
  let writer: string | undefined;
  const object = updateObject(
    context,
    target,
    (live) => {
      before = parseManagers(live.metadata.managedFields);
      const outcome = mergeFields(target, withLegacyManagers(target, live, before), live, config, owner, force);
      after = outcome.managers;
      writer = outcome.isChange ? managerKey(owner) : undefined;
      return decodeObject(context, target.resource, outcome.merged, '');
    },
    { by: 'apply', track: (_old, next) => setManagers(next, serializeManagers(after, before, writer)) },
  );
  return { object, created: false };
}

/** Fields from before the first apply also get an owner. */
function withLegacyManagers(
  target: ObjectTarget,
  live: ApiObject,
  managers: ReadonlyMap<string, FieldManager>,
): Map<string, FieldManager> {
  if (managers.size > 0) return new Map(managers);
  const { resource } = target;
  const earlier: FieldManager = {
    manager: 'before-first-apply',
    operation: 'Update',
    subresource: '',
    apiVersion: apiVersionOfResource(resource),
    time: nowSeconds(),
    fields: ownableFields(resource, '', fieldSetOf(wholeSchema(resource), live)),
  };
  return new Map([[managerKey(earlier), earlier]]);
}

function mergeFields(
  { resource }: ObjectTarget,
  managers: Map<string, FieldManager>,
  live: ApiObject,
  config: JsonObject,
  owner: FieldManager,
  force: boolean,
): { merged: JsonObject; managers: Map<string, FieldManager>; isChange: boolean } {
  const schema = wholeSchema(resource);
  // Fields of other subresources stay unchanged, whatever the configuration contains.
  const reachable = (fields: FieldSet): FieldSet => ownableFields(resource, owner.subresource, fields);
  const identity = managerKey(owner);
  const last = managers.get(identity)?.fields ?? new FieldSet();
  managers.set(identity, { ...owner, time: managers.get(identity)?.time });
  const { managedFields: _managedFields, ...meta } = live.metadata;
  const bare = { ...live, metadata: meta };
  const owned = [...managers.values()].reduce((all, one) => all.union(one.fields), new FieldSet());
  const merged = asObject(removeFields(schema, mergeTyped(schema, bare, config), last, owned));
  const changes = compareTyped(schema, bare, merged);
  const taken = reachable(changes.modified.union(changes.added));
  const conflicts = [...managers].flatMap(([name, one]) => (name === identity ? [] : conflictsWith(one, taken)));
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  const gone = taken.union(reachable(changes.removed));
  for (const [name, one] of managers) {
    if (name !== identity) managers.set(name, { ...one, fields: one.fields.difference(gone) });
  }
  return { merged, managers, isChange: !equal(bare, merged) };
}

interface FieldConflict {
  readonly with: string;
  readonly path: string;
}

const conflictsWith = (one: FieldManager, taken: FieldSet): FieldConflict[] =>
  [...one.fields.intersection(taken).paths()].map((path) => ({
    with: describeManager(one),
    path: formatFieldPath(path),
  }));

function describeManager(one: FieldManager): string {
  const name =
    JSON.stringify(one.manager) + (one.subresource ? ` with subresource ${JSON.stringify(one.subresource)}` : '');
  return one.operation === 'Update' ? `${name} using ${one.apiVersion}` : name;
}

function conflictError(conflicts: readonly FieldConflict[]): ApiError {
  const [first] = conflicts;
  const causes = conflicts.map(({ with: other, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${other}`,
    field: path,
  }));
  if (conflicts.length === 1 && first) {
    const message = `Apply failed with 1 conflict: conflict with ${first.with}: ${first.path}`;
    return new ApiError(409, 'Conflict', message, { causes });
  }
  const lines = [...new Set(conflicts.map((one) => one.with))]
    .sort()
    .flatMap((other) => [
      `conflicts with ${other}:`,
      ...conflicts.filter((one) => one.with === other).map((one) => `- ${one.path}`),
    ]);
  return new ApiError(409, 'Conflict', `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`, {
    causes,
  });
}
