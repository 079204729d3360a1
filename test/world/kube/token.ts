import { randomUUID } from 'node:crypto';
import { apiVersionOf, tokenRequestSchema } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { badRequest, conflict, fieldError, invalid, notFound } from './errors.ts';
import { asArray, asObject, asText, type JsonObject } from './json.ts';
import type { Target } from './objects.ts';
import { decodeTyped } from './schema/decode.ts';
import { now } from './store.ts';

const type = { group: 'authentication.k8s.io', plural: 'tokenrequests', kind: 'TokenRequest' };

/** POST …/serviceaccounts/NAME/token: a JWT that lives as long as was asked for, and no longer than its account. */
export function requestToken(context: Context, { namespace = '', name }: Target, body: JsonObject): JsonObject {
  const account = context.storage.read('serviceaccounts', namespace, name);
  if (!account) throw notFound({ group: '', plural: 'serviceaccounts', kind: 'ServiceAccount' }, name);
  if (body['kind'] !== undefined && body['kind'] !== 'TokenRequest') {
    throw badRequest(`${String(body['kind'])} in version "v1" cannot be handled as a TokenRequest`);
  }
  const { object } = decodeTyped(tokenRequestSchema, body, 'TokenRequest', (problem) =>
    badRequest(`TokenRequest in version "v1" cannot be handled as a TokenRequest: ${problem}`),
  );
  const spec = asObject(object['spec']);
  const meta = asObject(object['metadata']);
  if (meta['name'] && meta['name'] !== name) {
    throw badRequest(`the name of the object (${asText(meta['name'])}) does not match the name on the URL (${name})`);
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
    apiVersion: apiVersionOf({ group: type.group, version: 'v1' }),
    metadata: { name, namespace, creationTimestamp: now() },
    spec: { ...spec, audiences: aud, expirationSeconds: seconds, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp },
  };
}

function lifetime(asked: unknown): number {
  const seconds = typeof asked === 'number' ? asked : 3600;
  if (seconds < 600) {
    throw invalid(type, '', [
      fieldError.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'),
    ]);
  }
  if (seconds > 2 ** 32) {
    throw invalid(type, '', [
      fieldError.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ]);
  }
  return seconds;
}

function boundObject(context: Context, namespace: string, ref: JsonObject): JsonObject {
  if (!ref['kind']) return {};
  const kind = asText(ref['kind']);
  const name = asText(ref['name']);
  const plural = { Pod: 'pods', Secret: 'secrets' }[kind];
  if (!plural) throw badRequest(`cannot bind token to object of type ${asText(ref['apiVersion'])}, Kind=${kind}`);
  const found = context.storage.read(plural, namespace, name);
  if (!found) throw notFound({ group: '', plural, kind }, name);
  if (ref['uid'] && ref['uid'] !== found.metadata.uid) {
    throw conflict(
      { group: '', plural, kind },
      name,
      `the UID in the bound object reference (${asText(ref['uid'])}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return { [kind.toLowerCase()]: { name, uid: found.metadata.uid } };
}
