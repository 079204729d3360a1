import { parse } from 'yaml';
import { metadata } from './builtin/parts.ts';
import { apiVersionOf, type Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { type ApiError, badRequest, fieldError, invalid, refuseInvalid, unsupportedMediaType } from './errors.ts';
import { asObject, isObject, type JsonObject } from './json.ts';
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

/**
 * The body as an object of the resource: kind checked, unknown fields handled as `fieldValidation` says, defaults filled in.
 * `patch`: what was patched with, as messages show it, when the body is the outcome of a patch.
 */
export function decodeObject(context: Context, resource: Resource, body: JsonObject, patch?: string): ApiObject {
  checkKind(resource, body);
  const refuse = refusal(resource, patch);
  const { object, unknown } = resource.definition
    ? decodeCustom(resource, body, refuse)
    : decodeBuiltin(resource, body, refuse);
  const twice = duplicates.get(body) ?? [];
  const sentences = [
    ...twice.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
  ];
  report(context, sentences, refuse);
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

type Refuse = (problem: string) => ApiError;

/** A body that cannot be read is a bad request; a patch that makes such a body is an invalid patch. */
const refusal =
  (resource: Resource, patch: string | undefined): Refuse =>
  (problem) =>
    patch === undefined
      ? badRequest(
          `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: ${problem}`,
        )
      : invalid({ group: '', plural: '', kind: '' }, '', [fieldError.invalid('patch', patch, problem)]);

interface Decoded {
  readonly object: ApiObject;
  readonly unknown: readonly string[];
}

function decodeBuiltin(resource: Resource, body: JsonObject, refuse: Refuse): Decoded {
  const { object, unknown } = decodeTyped(resource.schema, body, resource.kind, refuse);
  return { object: finish(resource, object), unknown };
}

function decodeCustom(resource: Resource, body: JsonObject, refuse: Refuse): Decoded {
  const meta = decodeTyped(metadata, asObject(body['metadata']), 'ObjectMeta', refuse);
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

function report(context: Context, sentences: readonly string[], refuse: Refuse): void {
  if (sentences.length === 0) return;
  const mode = context.info.query.get('fieldValidation') || 'Warn';
  if (mode === 'Warn') context.warnings.push(...sentences);
  if (mode === 'Strict') throw refuse(`strict decoding error: ${sentences.join(', ')}`);
}
