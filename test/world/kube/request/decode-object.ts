import { parse } from 'yaml';
import { metadataSchema } from '../builtin/model-schema.ts';
import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import {
  type ApiError,
  badRequestError,
  fieldErrors,
  invalidError,
  throwIfFieldErrors,
  unsupportedMediaTypeError,
} from '../errors.ts';
import { asObject, isObject, type JsonObject } from '../json.ts';
import { decodeTyped } from '../schema/decode-typed.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { pruneUnknownFields } from '../schema/prune.ts';
import type { ApiMeta, ApiObject } from '../storage/store.ts';
import type { RequestContext } from './context.ts';
import { findDuplicateFields } from './duplicate-fields.ts';

/** Duplicate fields of a body, for {@link decodeObject} to report. */
const duplicates = new WeakMap<JsonObject, readonly string[]>();

const readable = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'];

/** Parses a request body: JSON, or YAML by its content type. Throws 400, or 415 for other types. */
export function parseBody(text: string, contentType: string): JsonObject {
  const type = (contentType.split(';')[0] ?? '').trim();
  if (type !== '' && type !== 'application/json' && !type.includes('yaml')) throw unsupportedMediaTypeError(readable);
  try {
    const value = type.includes('yaml') ? parse(text, { uniqueKeys: false }) : JSON.parse(text);
    if (isObject(value)) {
      if (!type.includes('yaml')) duplicates.set(value, findDuplicateFields(text));
      return value;
    }
  } catch (error) {
    throw badRequestError(
      `couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : error}`,
    );
  }
  throw badRequestError(
    "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct",
  );
}

/**
 * The body as an object of the resource: the kind is checked, unknown fields are handled by `fieldValidation`, defaults
 * are set. `patch`: the patch in the form of messages, when the body is the result of a patch.
 */
export function decodeObject(
  context: RequestContext,
  resource: ApiResource,
  body: JsonObject,
  patch?: string,
): ApiObject {
  checkKind(resource, body);
  const refuse = decodeErrorFor(resource, patch);
  const { object, unknown } = resource.definition
    ? decodeCustom(resource, body, refuse)
    : decodeBuiltin(resource, body, refuse);
  const twice = duplicates.get(body) ?? [];
  const sentences = [
    ...twice.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
  ];
  reportUnknownFields(context, sentences, refuse);
  applyDefaults(resource.schema, object);
  return object;
}

function checkKind(resource: ApiResource, body: JsonObject): void {
  const wanted = apiVersionOfResource(resource);
  const apiVersion = body['apiVersion'] ?? (resource.definition ? '' : wanted);
  const kind = body['kind'] ?? (resource.definition ? '' : resource.kind);
  if (!kind && resource.definition) throw badRequestError("Object 'Kind' is missing in the body");
  if (!apiVersion) throw badRequestError("Object 'apiVersion' is missing in the body");
  if (apiVersion !== wanted) {
    throw badRequestError(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${wanted})`,
    );
  }
  if (kind !== resource.kind && resource.definition) {
    const meta = isObject(body['metadata']) ? body['metadata'] : {};
    throwIfFieldErrors(resource, String(meta['name'] ?? ''), [
      fieldErrors.invalid('kind', kind, `must be ${resource.kind}`),
    ]);
  }
  if (kind !== resource.kind) {
    throw badRequestError(
      `${String(kind)} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: converting (${apiVersion}.${String(kind)}) to (${wanted}.${resource.kind}): unknown conversion`,
    );
  }
}

type ToDecodeError = (problem: string) => ApiError;

/** An invalid body is a bad request; a patch with an invalid result is an invalid patch. */
const decodeErrorFor =
  (resource: ApiResource, patch: string | undefined): ToDecodeError =>
  (problem) =>
    patch === undefined
      ? badRequestError(
          `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: ${problem}`,
        )
      : invalidError({ group: '', plural: '', kind: '' }, '', [fieldErrors.invalid('patch', patch, problem)]);

interface Decoded {
  readonly object: ApiObject;
  readonly unknown: readonly string[];
}

function decodeBuiltin(resource: ApiResource, body: JsonObject, refuse: ToDecodeError): Decoded {
  const { object, unknown } = decodeTyped(resource.schema, body, resource.kind, refuse);
  return { object: finish(resource, object), unknown };
}

function decodeCustom(resource: ApiResource, body: JsonObject, refuse: ToDecodeError): Decoded {
  const meta = decodeTyped(metadataSchema, asObject(body['metadata']), 'ObjectMeta', refuse);
  const object = finish(resource, { ...structuredClone(body), metadata: meta.object });
  const unknown = pruneUnknownFields(resource.schema, object);
  return { object, unknown: [...meta.unknown.map((path) => `metadata.${path}`), ...unknown] };
}

const finish = (resource: ApiResource, object: JsonObject): ApiObject => ({
  ...object,
  apiVersion: apiVersionOfResource(resource),
  kind: resource.kind,
  metadata: (object['metadata'] ?? {}) as ApiMeta,
});

function reportUnknownFields(context: RequestContext, sentences: readonly string[], refuse: ToDecodeError): void {
  if (sentences.length === 0) return;
  const mode = context.info.query.get('fieldValidation') || 'Warn';
  if (mode === 'Warn') context.warnings.push(...sentences);
  if (mode === 'Strict') throw refuse(`strict decoding error: ${sentences.join(', ')}`);
}
