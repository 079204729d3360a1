import { parse } from 'yaml';
import { metadata } from './builtin/parts.ts';
import { apiVersionOf, type Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { ApiError, badRequest, fieldError, refuseInvalid, unsupportedMediaType } from './errors.ts';
import { isObject, type JsonObject } from './json.ts';
import { duplicateFields } from './json-duplicates.ts';
import { decodeTyped } from './schema/decode.ts';
import { applyDefaults } from './schema/defaults.ts';
import { prune } from './schema/prune.ts';
import type { ApiMeta, ApiObject } from './store.ts';

/** Fields that a body gave twice, for {@link decodeObject} to report. */
const duplicates = new WeakMap<JsonObject, readonly string[]>();

const readable = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'];

/** Reads a request body: JSON, or YAML where its type says so. Throws 400, or 415 for what is neither. */
export function parseBody(text: string, contentType: string): JsonObject {
  const type = (contentType.split(';')[0] ?? '').trim();
  if (type !== '' && type !== 'application/json' && !type.includes('yaml')) throw unsupportedMediaType(readable);
  try {
    const value = type.includes('yaml') ? parse(text, { uniqueKeys: false }) : JSON.parse(text);
    if (isObject(value)) {
      if (!type.includes('yaml')) duplicates.set(value, duplicateFields(text));
      return value;
    }
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : error}`);
  }
  throw badRequest("couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct");
}

/** The body as an object of the resource: kind checked, unknown fields handled as `fieldValidation` says, defaults filled in. */
export function decodeObject(context: Context, resource: Resource, body: JsonObject, where = 'body'): ApiObject {
  checkKind(resource, body);
  const { object, unknown } = resource.definition ? decodeCustom(resource, body) : decodeBuiltin(resource, body);
  const twice = duplicates.get(body) ?? [];
  report(
    context,
    resource,
    [
      ...twice.map((path) => `duplicate field ${JSON.stringify(path)}`),
      ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ],
    where,
  );
  applyDefaults(resource.schema, object);
  return object;
}

function checkKind(resource: Resource, body: JsonObject): void {
  const wanted = apiVersionOf(resource);
  const apiVersion = body['apiVersion'] ?? (resource.definition ? '' : wanted);
  const kind = body['kind'] ?? (resource.definition ? '' : resource.kind);
  if (!kind && resource.definition) throw badRequest("Object 'Kind' is missing in the body");
  if (!apiVersion) throw badRequest("Object 'apiVersion' is missing in the body");
  if (apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${wanted})`,
    );
  }
  if (kind !== resource.kind && resource.definition) {
    const meta = isObject(body['metadata']) ? body['metadata'] : {};
    refuseInvalid(resource, String(meta['name'] ?? ''), [fieldError.invalid('kind', kind, `must be ${resource.kind}`)]);
  }
  if (kind !== resource.kind) {
    throw badRequest(
      `${String(kind)} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: converting (${apiVersion}.${String(kind)}) to (${wanted}.${resource.kind}): unknown conversion`,
    );
  }
}

function decodeBuiltin(resource: Resource, body: JsonObject): { object: ApiObject; unknown: string[] } {
  const { object, unknown } = decodeTyped(resource.schema, body, resource.kind, resource.version);
  return { object: finish(resource, object), unknown };
}

function decodeCustom(resource: Resource, body: JsonObject): { object: ApiObject; unknown: string[] } {
  const meta = decodeTyped(metadata, (body['metadata'] ?? {}) as JsonObject, 'ObjectMeta', resource.version);
  const object = finish(resource, { ...structuredClone(body), metadata: meta.object });
  const unknown = prune(resource.schema, object);
  return { object, unknown: [...meta.unknown.map((path) => `metadata.${path}`), ...unknown] };
}

const finish = (resource: Resource, object: JsonObject): ApiObject => ({
  ...object,
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  metadata: (object['metadata'] ?? {}) as ApiMeta,
});

function report(context: Context, resource: Resource, sentences: readonly string[], where: string): void {
  if (sentences.length === 0) return;
  const mode = context.info.query.get('fieldValidation') || 'Warn';
  if (mode === 'Warn') context.warnings.push(...sentences);
  if (mode !== 'Strict') return;
  const problem = `strict decoding error: ${sentences.join(', ')}`;
  if (where === 'patch') {
    throw new ApiError(422, 'Invalid', ` "" is invalid: patch: Invalid value: "": ${problem}`, {
      causes: [{ reason: 'FieldValueInvalid', message: `Invalid value: "": ${problem}`, field: 'patch' }],
    });
  }
  throw badRequest(
    `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: ${problem}`,
  );
}
