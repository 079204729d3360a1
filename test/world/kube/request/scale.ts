import { scaleSchema } from '../builtin/resources.ts';
import { badRequestError, methodNotAllowedError } from '../errors.ts';
import { asObject, type JsonObject, valueAtPath } from '../json.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { decodeTyped } from '../schema/decode-typed.ts';
import type { ApiObject } from '../storage/store.ts';
import { type ObjectTarget, readObject, updateObject } from '../storage/write-object.ts';
import { isDryRun, type RequestContext } from './context.ts';
import { decodeObject, parseBody } from './decode-object.ts';
import type { ApiRequest } from './handle-request.ts';
import { type ApiResponse, okResponse } from './response.ts';

/** The scale subresource, for `kubectl scale`: replicas in, replicas out. */
export function handleScale({ context, body, contentType }: ApiRequest, target: ObjectTarget): ApiResponse {
  const plain: ObjectTarget = { ...target, subresource: '' };
  const current = readObject(context, plain);
  switch (context.info.verb) {
    case 'get':
      return okResponse(scaleOf(current));
    case 'update':
      return okResponse(scaleOf(setReplicas(context, plain, parseScale(body, contentType))));
    case 'patch': {
      const patched = asObject(applyMergePatch(scaleOf(current), parseBody(body, 'application/json')));
      return okResponse(scaleOf(setReplicas(context, plain, patched)));
    }
    default:
      throw methodNotAllowedError();
  }
}

function parseScale(body: string, contentType: string): JsonObject {
  const refuse = (problem: string) => badRequestError(`Scale in version "v1" cannot be handled as a Scale: ${problem}`);
  return decodeTyped(scaleSchema, parseBody(body, contentType), 'Scale', refuse).object;
}

function setReplicas(context: RequestContext, target: ObjectTarget, wanted: JsonObject): ApiObject {
  const replicas = Number(valueAtPath(wanted, 'spec.replicas') ?? 0);
  const changed = updateObject(context, target, (old) =>
    decodeObject(context, target.resource, { ...old, spec: { ...asObject(old['spec']), replicas } }),
  );
  return isDryRun(context) ? changed : readObject(context, target);
}

const scaleOf = (object: ApiObject): JsonObject => ({
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  metadata: {
    name: object.metadata.name,
    namespace: object.metadata.namespace,
    uid: object.metadata.uid,
    resourceVersion: object.metadata.resourceVersion,
    creationTimestamp: object.metadata.creationTimestamp,
  },
  spec: { replicas: valueAtPath(object, 'spec.replicas') ?? 0 },
  status: { replicas: valueAtPath(object, 'status.replicas') ?? 0 },
});
