import { applyServerSide } from '../apply/apply.ts';
import {
  ApiError,
  badRequestError,
  fieldErrors,
  invalidError,
  notFoundError,
  unsupportedMediaTypeError,
} from '../errors.ts';
import { asObject, formatLikeGo, isObject, type JsonObject } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import { decodeObject, parseBody } from '../request/decode-object.ts';
import type { ApiObject } from '../storage/store.ts';
import { type ObjectTarget, updateObject, type WriteResult } from '../storage/write-object.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const types = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
] as const;

/** A PATCH request of any supported type. */
export function patchObject(
  context: RequestContext,
  target: ObjectTarget,
  body: string,
  contentType: string,
): WriteResult {
  const type = (contentType.split(';')[0] ?? '').trim();
  const { resource } = target;
  const accepted = types.filter((name) => !(resource.definition && name === 'application/strategic-merge-patch+json'));
  if (!types.some((name) => name === type)) {
    throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type');
  }
  if (!accepted.some((name) => name === type) || type === 'application/apply-patch+cbor') {
    throw unsupportedMediaTypeError(accepted);
  }
  if (type === 'application/apply-patch+yaml')
    return applyServerSide(context, target, parseBody(body, 'application/yaml'));
  if (context.info.query.has('force')) {
    throw invalidError({ group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' }, '', [
      fieldErrors.forbidden('force', 'may not be specified for non-apply patch'),
    ]);
  }
  if (!context.storage.read(resource.storage, target.namespace, target.name))
    throw notFoundError(resource, target.name);
  const parsed = parsePatch(body);
  const change = (old: ApiObject): ApiObject => {
    const next = applyPatchOfType(type, target, old, parsed);
    if (!isObject(next)) throw badRequestError('the patched object is no object');
    const shown = type === 'application/strategic-merge-patch+json' ? formatLikeGo(parsed) : JSON.stringify(next);
    return decodeObject(context, resource, next as JsonObject, shown);
  };
  return { object: updateObject(context, target, change), created: false };
}

function applyPatchOfType(type: string, { resource }: ObjectTarget, old: ApiObject, parsed: unknown): unknown {
  if (type === 'application/json-patch+json') return applyJsonPatch(old, parsed);
  if (type === 'application/merge-patch+json') return applyMergePatch(old, parsed);
  return applyStrategicMergePatch(resource.schema, old, asObject(parsed));
}

function parsePatch(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw badRequestError(`error decoding patch: ${error instanceof Error ? error.message : error}`);
  }
}
