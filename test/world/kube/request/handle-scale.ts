import { trackUpdate } from '../apply/track-update.ts';
import type { ScalePaths } from '../builtin/resources.ts';
import {
  badRequestError,
  fieldErrors,
  methodNotAllowedError,
  throwIfFieldErrors,
  unsupportedMediaTypeError,
} from '../errors.ts';
import { asObject, clone, isObject, type JsonObject } from '../json.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import type { ApiObject } from '../storage/store.ts';
import { type ObjectTarget, readObject, updateObject } from '../storage/write-object.ts';
import { fieldManagerOf, type RequestContext } from './context.ts';
import { parseBody } from './decode-object.ts';

/**
 * The subresource `scale` of a custom resource: a Scale that is read from, and written to, the paths of its definition
 * (`apiextensions-apiserver: pkg/registry/customresource/etcd.go`).
 */
export function handleScale(
  context: RequestContext,
  target: ObjectTarget,
  paths: ScalePaths,
  { body, contentType }: { readonly body: string; readonly contentType: string },
): JsonObject {
  const { verb } = context.info;
  if (verb === 'get') return describeScale(readObject(context, target), paths);
  if (verb !== 'update' && verb !== 'patch') throw methodNotAllowedError();
  const change = (old: ApiObject): ApiObject => {
    const scale = describeScale(old, paths);
    const next = verb === 'update' ? parseBody(body, contentType) : patchScale(scale, body, contentType);
    return withReplicas(target, old, paths, next);
  };
  const written = updateObject(context, { ...target, subresource: '' }, change, {
    track: (old, next) =>
      trackUpdate(target.resource, old, next, { manager: fieldManagerOf(context), subresource: 'scale' }),
  });
  return describeScale(written, paths);
}

function describeScale(object: ApiObject, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = valueAt(object, paths.labelSelectorPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas: valueAt(object, paths.specReplicasPath) ?? 0 },
    status: {
      replicas: valueAt(object, paths.statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && selector !== '' && { selector }),
    },
  };
}

function patchScale(scale: JsonObject, body: string, contentType: string): JsonObject {
  const type = (contentType.split(';')[0] ?? '').trim();
  const patch: unknown = JSON.parse(body);
  const next =
    type === 'application/merge-patch+json'
      ? applyMergePatch(scale, patch)
      : type === 'application/json-patch+json'
        ? applyJsonPatch(scale, patch)
        : undefined;
  if (next === undefined)
    throw unsupportedMediaTypeError(['application/json-patch+json', 'application/merge-patch+json']);
  if (!isObject(next)) throw badRequestError('the patched object is no object');
  return next;
}

function withReplicas(
  { resource, name }: ObjectTarget,
  old: ApiObject,
  paths: ScalePaths,
  scale: JsonObject,
): ApiObject {
  const replicas = asObject(scale['spec'])['replicas'] ?? 0;
  if (typeof replicas !== 'number' || replicas < 0) {
    throwIfFieldErrors(resource, name, [
      fieldErrors.invalid('spec.replicas', replicas, 'should be a non-negative integer'),
    ]);
  }
  const { resourceVersion } = asObject(scale['metadata']);
  const next = clone(old);
  if (typeof resourceVersion === 'string') next.metadata.resourceVersion = resourceVersion;
  const steps = stepsOf(paths.specReplicasPath);
  const last = steps.pop() ?? '';
  let place: JsonObject = next as unknown as JsonObject;
  for (const step of steps) {
    place[step] ??= {};
    place = asObject(place[step]);
  }
  place[last] = replicas;
  return next;
}

const stepsOf = (path: string): string[] => path.replace(/^\./, '').split('.');

const valueAt = (object: ApiObject, path: string | undefined): unknown =>
  path === undefined
    ? undefined
    : stepsOf(path).reduce<unknown>((value, step) => asObject(value)[step], object as unknown as JsonObject);
