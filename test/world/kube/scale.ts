import { scaleSchema } from './builtin/resources.ts';
import { type Context, isDryRun } from './context.ts';
import { decodeObject, parseBody } from './decode.ts';
import { badRequest, methodNotAllowed } from './errors.ts';
import type { Request } from './handle.ts';
import { asObject, at, type JsonObject } from './json.ts';
import { read, type Target, update } from './objects.ts';
import { mergePatch } from './patch/merge-patch.ts';
import { type Answer, ok } from './respond.ts';
import { decodeTyped } from './schema/decode.ts';
import type { ApiObject } from './store.ts';

/** The scale sub-resource, for `kubectl scale`: replicas in, replicas out. */
export function scale({ context, body, contentType }: Request, target: Target): Answer {
  const plain: Target = { ...target, subresource: '' };
  const current = read(context, plain);
  switch (context.info.verb) {
    case 'get':
      return ok(scaleOf(current));
    case 'update':
      return ok(scaleOf(setReplicas(context, plain, parseScale(body, contentType))));
    case 'patch': {
      const patched = asObject(mergePatch(scaleOf(current), parseBody(body, 'application/json')));
      return ok(scaleOf(setReplicas(context, plain, patched)));
    }
    default:
      throw methodNotAllowed();
  }
}

function parseScale(body: string, contentType: string): JsonObject {
  const refuse = (problem: string) => badRequest(`Scale in version "v1" cannot be handled as a Scale: ${problem}`);
  return decodeTyped(scaleSchema, parseBody(body, contentType), 'Scale', refuse).object;
}

function setReplicas(context: Context, target: Target, wanted: JsonObject): ApiObject {
  const replicas = Number(at(wanted, 'spec.replicas') ?? 0);
  const changed = update(context, target, (old) =>
    decodeObject(context, target.resource, { ...old, spec: { ...asObject(old['spec']), replicas } }),
  );
  return isDryRun(context) ? changed : read(context, target);
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
  spec: { replicas: at(object, 'spec.replicas') ?? 0 },
  status: { replicas: at(object, 'status.replicas') ?? 0 },
});
