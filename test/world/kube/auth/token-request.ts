import { randomUUID } from 'node:crypto';
import { apiVersionOfResource, tokenRequestSchema } from '../builtin/resources.ts';
import { badRequestError, conflictError, fieldErrors, invalidError, notFoundError } from '../errors.ts';
import { asArray, asObject, asText, type JsonObject } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import { decodeTyped } from '../schema/decode-typed.ts';
import { nowSeconds } from '../storage/store.ts';
import type { ObjectTarget } from '../storage/write-object.ts';

const type = { group: 'authentication.k8s.io', plural: 'tokenrequests', kind: 'TokenRequest' };

/**
 * POST …/serviceaccounts/NAME/token: a JWT with the requested lifetime, valid at most as long as its account exists.
 */
export function issueServiceAccountToken(
  context: RequestContext,
  { namespace = '', name }: ObjectTarget,
  body: JsonObject,
): JsonObject {
  const account = context.storage.read('serviceaccounts', namespace, name);
  if (!account) throw notFoundError({ group: '', plural: 'serviceaccounts', kind: 'ServiceAccount' }, name);
  if (body['kind'] !== undefined && body['kind'] !== 'TokenRequest') {
    throw badRequestError(`${String(body['kind'])} in version "v1" cannot be handled as a TokenRequest`);
  }
  const { object } = decodeTyped(tokenRequestSchema, body, 'TokenRequest', (problem) =>
    badRequestError(`TokenRequest in version "v1" cannot be handled as a TokenRequest: ${problem}`),
  );
  const spec = asObject(object['spec']);
  const meta = asObject(object['metadata']);
  if (meta['name'] && meta['name'] !== name) {
    throw badRequestError(
      `the name of the object (${asText(meta['name'])}) does not match the name on the URL (${name})`,
    );
  }
  const seconds = lifetime(spec['expirationSeconds']);
  const audiences = asArray(spec['audiences']).map(String);
  const aud = audiences.length > 0 ? audiences : [...context.auth.audiences];
  const issued = Math.floor(Date.now() / 1000);
  const bound = boundObject(context, namespace, asObject(spec['boundObjectRef']));
  const token = context.auth.key.sign({
    aud,
    exp: issued + seconds,
    iat: issued,
    iss: context.auth.issuer,
    jti: randomUUID(),
    'kubernetes.io': { namespace, ...bound, serviceaccount: { name, uid: account.metadata.uid } },
    nbf: issued,
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  const expirationTimestamp = new Date((issued + seconds) * 1000).toISOString().replace('.000', '');
  return {
    kind: 'TokenRequest',
    apiVersion: apiVersionOfResource({ group: type.group, version: 'v1' }),
    metadata: { name, namespace, creationTimestamp: nowSeconds() },
    spec: { ...spec, audiences: aud, expirationSeconds: seconds, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp },
  };
}

function lifetime(asked: unknown): number {
  const seconds = typeof asked === 'number' ? asked : 3600;
  if (seconds < 600) {
    throw invalidError(type, '', [
      fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'),
    ]);
  }
  if (seconds > 2 ** 32) {
    throw invalidError(type, '', [
      fieldErrors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ]);
  }
  return seconds;
}

function boundObject(context: RequestContext, namespace: string, ref: JsonObject): JsonObject {
  if (!ref['kind']) return {};
  const kind = asText(ref['kind']);
  const name = asText(ref['name']);
  const plural = { Pod: 'pods', Secret: 'secrets' }[kind];
  if (!plural) throw badRequestError(`cannot bind token to object of type ${asText(ref['apiVersion'])}, Kind=${kind}`);
  const found = context.storage.read(plural, namespace, name);
  if (!found) throw notFoundError({ group: '', plural, kind }, name);
  if (ref['uid'] && ref['uid'] !== found.metadata.uid) {
    throw conflictError(
      { group: '', plural, kind },
      name,
      `the UID in the bound object reference (${asText(ref['uid'])}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return { [kind.toLowerCase()]: { name, uid: found.metadata.uid } };
}
