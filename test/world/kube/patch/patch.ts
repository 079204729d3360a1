import { applyPatch } from '../apply/apply.ts';
import type { Context } from '../context.ts';
import { decodeObject, parseBody } from '../decode.ts';
import { ApiError, badRequest, fieldError, invalid, notFound, unsupportedMediaType } from '../errors.ts';
import { asObject, goText, isObject, type JsonObject } from '../json.ts';
import { type Target, update, type Written } from '../objects.ts';
import type { ApiObject } from '../store.ts';
import { jsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { strategicMerge } from './strategic.ts';

const types = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
] as const;

/** A PATCH request of any of the kinds that the API server knows. */
export function patch(context: Context, target: Target, body: string, contentType: string): Written {
  const type = (contentType.split(';')[0] ?? '').trim();
  const { resource } = target;
  const accepted = types.filter((name) => !(resource.definition && name === 'application/strategic-merge-patch+json'));
  if (!types.some((name) => name === type)) {
    throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type');
  }
  if (!accepted.some((name) => name === type) || type === 'application/apply-patch+cbor') {
    throw unsupportedMediaType(accepted);
  }
  if (type === 'application/apply-patch+yaml') return applyPatch(context, target, parseBody(body, 'application/yaml'));
  if (context.info.query.has('force')) {
    throw invalid({ group: 'meta.k8s.io', plural: 'patchoptions', kind: 'PatchOptions' }, '', [
      fieldError.forbidden('force', 'may not be specified for non-apply patch'),
    ]);
  }
  if (!context.storage.read(resource.storage, target.namespace, target.name)) throw notFound(resource, target.name);
  const parsed = parsePatch(body);
  const change = (old: ApiObject): ApiObject => {
    const next = patched(type, target, old, parsed);
    if (!isObject(next)) throw badRequest('the patched object is no object');
    const shown = type === 'application/strategic-merge-patch+json' ? goText(parsed) : JSON.stringify(next);
    return decodeObject(context, resource, next as JsonObject, shown);
  };
  return { object: update(context, target, change), created: false };
}

function patched(type: string, { resource }: Target, old: ApiObject, parsed: unknown): unknown {
  if (type === 'application/json-patch+json') return jsonPatch(old, parsed);
  if (type === 'application/merge-patch+json') return mergePatch(old, parsed);
  return strategicMerge(resource.schema, old, asObject(parsed));
}

function parsePatch(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw badRequest(`error decoding patch: ${error instanceof Error ? error.message : error}`);
  }
}
