import { apiVersionOf } from '../builtin/resources.ts';
import { type Context, managerOf } from '../context.ts';
import { decodeObject } from '../decode.ts';
import { ApiError, badRequest, fieldError, invalid } from '../errors.ts';
import { asObject, asText, equal, type JsonObject } from '../json.ts';
import { create, read, type Target, update, type Written } from '../objects.ts';
import { truthy } from '../request.ts';
import { type ApiObject, now } from '../store.ts';
import { FieldSet, showPath } from './field-set.ts';
import { excusedBy, keepLastApplied } from './last-applied.ts';
import { identityOf, type Manager, ownable, readManagers, wholeSchema, writeManagers } from './managers.ts';
import { setManagers } from './tracker.ts';
import { checkTyped, compare, fieldsOf, merge, removeFields } from './typed.ts';

/** Server-side apply. Creates what does not exist; throws 409 with a cause for each field that somebody else owns. */
export function applyPatch(context: Context, target: Target, config: JsonObject): Written {
  const exists = context.storage.read(target.resource.storage, target.namespace, target.name) !== undefined;
  checkRequest(context, target, config, exists);
  if (exists) return applyToLive(context, target, config);
  if (target.subresource) read(context, target);
  const uid = asText(asObject(config['metadata'])['uid']);
  if (uid) {
    throw new ApiError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${target.resource.plural} "${target.name}": uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      { name: target.name, kind: target.resource.plural },
    );
  }
  return applyToNothing(context, target, config);
}

function checkRequest(context: Context, target: Target, config: JsonObject, exists: boolean): void {
  const { resource, name, namespace, subresource } = target;
  if (!context.info.query.get('fieldManager')) {
    throw invalid({ group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' }, '', [
      fieldError.required('fieldManager', 'is required for apply patch'),
    ]);
  }
  const wanted = apiVersionOf(resource);
  if (!config['kind'] || !config['apiVersion'])
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(config)}'`);
  if (config['apiVersion'] !== wanted) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${String(config['apiVersion'])}, expected: ${wanted}`,
    );
  }
  const meta = asObject(config['metadata']);
  if (meta['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
  if (meta['name'] === undefined && !subresource && !exists) throw badRequest('name must be provided');
  if (meta['name'] !== undefined && meta['name'] !== name) {
    throw badRequest(`the name of the object (${asText(meta['name'])}) does not match the name on the URL (${name})`);
  }
  const what = `${namespace ?? ''}/${name}; ${resource.group ? `${wanted}` : `/${wanted}`}, Kind=${resource.kind}`;
  checkTyped(wholeSchema(resource), config, what);
}

function applyToNothing(context: Context, target: Target, config: JsonObject): Written {
  const { resource, namespace, name } = target;
  const body = { ...config, metadata: { ...asObject(config['metadata']), name } };
  const object = decodeObject(context, resource, body, '');
  const owner = ownerOf(context, target, config);
  const track = (_old: ApiObject | undefined, next: ApiObject): void => {
    setManagers(next, writeManagers(new Map([[identityOf(owner), owner]]), new Map(), identityOf(owner)));
  };
  return { object: create(context, resource, namespace, object, track), created: true };
}

function ownerOf(context: Context, { resource, subresource }: Target, config: JsonObject): Manager {
  return {
    manager: managerOf(context),
    operation: 'Apply',
    subresource,
    apiVersion: apiVersionOf(resource),
    time: undefined,
    fields: ownable(resource, subresource, fieldsOf(wholeSchema(resource), config)),
  };
}

function applyToLive(context: Context, target: Target, config: JsonObject): Written {
  const owner = ownerOf(context, target, config);
  const force = truthy(context.info.query.get('force'));
  let before: ReadonlyMap<string, Manager> = new Map();
  let after: ReadonlyMap<string, Manager> = new Map();
  // Who applies what is there already only joins its owners: no time is noted for that.
  let writer: string | undefined;
  const object = update(
    context,
    target,
    (live) => {
      before = readManagers(live.metadata.managedFields);
      const outcome = fold(target, withHistory(target, live, before), live, config, owner, force);
      after = outcome.managers;
      writer = outcome.isChange ? identityOf(owner) : undefined;
      const kept = keepLastApplied(owner.manager, outcome.merged, config);
      return decodeObject(context, target.resource, kept, '');
    },
    { by: 'apply', track: (_old, next) => setManagers(next, writeManagers(after, before, writer)) },
  );
  return { object, created: false };
}

/** What was there before the first apply belongs to somebody too. */
function withHistory(target: Target, live: ApiObject, managers: ReadonlyMap<string, Manager>): Map<string, Manager> {
  if (managers.size > 0) return new Map(managers);
  const { resource } = target;
  const earlier: Manager = {
    manager: 'before-first-apply',
    operation: 'Update',
    subresource: '',
    apiVersion: apiVersionOf(resource),
    time: now(),
    fields: ownable(resource, '', fieldsOf(wholeSchema(resource), live)),
  };
  return new Map([[identityOf(earlier), earlier]]);
}

function fold(
  { resource }: Target,
  managers: Map<string, Manager>,
  live: ApiObject,
  config: JsonObject,
  owner: Manager,
  force: boolean,
): { merged: JsonObject; managers: Map<string, Manager>; isChange: boolean } {
  const schema = wholeSchema(resource);
  // What lies behind the other door stays as it is, whatever the configuration says about it.
  const reachable = (fields: FieldSet): FieldSet => ownable(resource, owner.subresource, fields);
  const identity = identityOf(owner);
  const last = managers.get(identity)?.fields ?? new FieldSet();
  managers.set(identity, { ...owner, time: managers.get(identity)?.time });
  const { managedFields: _managedFields, ...meta } = live.metadata;
  const bare = { ...live, metadata: meta };
  const owned = [...managers.values()].reduce((all, one) => all.union(one.fields), new FieldSet());
  const merged = asObject(removeFields(schema, merge(schema, bare, config), last, owned));
  const changes = compare(schema, bare, merged);
  const taken = reachable(changes.modified.union(changes.added));
  const contested = taken.difference(excusedBy(owner.manager, schema, bare));
  const conflicts = [...managers].flatMap(([name, one]) => (name === identity ? [] : conflictsWith(one, contested)));
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

const conflictsWith = (one: Manager, taken: FieldSet): FieldConflict[] =>
  [...one.fields.intersection(taken).paths()].map((path) => ({ with: describe(one), path: showPath(path) }));

function describe(one: Manager): string {
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
