import type { ApiResource } from '../builtin/resources.ts';
import { badRequestError, type FieldError, fieldErrors, throwIfFieldErrors } from '../errors.ts';
import { asArray, asObject, asText, isObject, type JsonObject } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import type { ApiObject } from '../storage/store.ts';
import { type ApiUser, userFromToken } from './authentication.ts';
import { authorizeByRbac, type RbacAttributes, rulesOfUser } from './rbac.ts';

/** Answers the review kinds: SelfSubjectReview, access reviews and TokenReview. */
export function answerReview(context: RequestContext, resource: ApiResource, object: ApiObject): JsonObject {
  const spec = asObject(object['spec']);
  throwIfFieldErrors(resource, '', attributeErrors(resource, spec));
  const answer = (status: JsonObject): JsonObject => ({ ...object, metadata: object.metadata ?? {}, status });
  switch (resource.kind) {
    case 'SelfSubjectReview':
      return answer({ userInfo: userInfo(context.user) });
    case 'SelfSubjectAccessReview':
      return answer(decideAccess(context, context.user, spec));
    case 'SubjectAccessReview':
      return answer(decideAccess(context, subjectOf(spec), spec));
    case 'SelfSubjectRulesReview':
      return answer(allRules(context, asText(spec['namespace'])));
    case 'TokenReview':
      return answer(reviewToken(context, asText(spec['token']), asArray(spec['audiences']).map(String)));
    default:
      throw badRequestError(`${resource.kind} is no review`);
  }
}

/** An access review needs a resource or a path, and a user. */
function attributeErrors({ kind }: ApiResource, spec: JsonObject): FieldError[] {
  if (!kind.endsWith('AccessReview')) return [];
  const [resource, path] = [spec['resourceAttributes'], spec['nonResourceAttributes']];
  const errors: FieldError[] = [];
  if (resource && path) {
    const text = 'cannot be specified in combination with resourceAttributes';
    errors.push(fieldErrors.invalid('spec.nonResourceAttributes', path, text));
  }
  if (!resource && !path) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(fieldErrors.invalid('spec.resourceAttributes', null, text));
  }
  if (kind !== 'SelfSubjectAccessReview' && !spec['user'] && asArray(spec['groups']).length === 0) {
    errors.push(fieldErrors.invalid('spec.user', '', 'at least one of user or group must be specified'));
  }
  return errors;
}

const userInfo = (user: ApiUser): JsonObject => ({
  username: user.name,
  ...(user.uid ? { uid: user.uid } : {}),
  groups: user.groups,
  ...(user.extra ? { extra: user.extra } : {}),
});

const subjectOf = (spec: JsonObject): ApiUser => ({
  name: asText(spec['user']),
  groups: asArray(spec['groups']).map(String),
});

function decideAccess(context: RequestContext, user: ApiUser, spec: JsonObject): JsonObject {
  const { allowed, reason } = authorizeByRbac(context.storage, user, attributesOf(spec));
  return { allowed, ...(reason ? { reason } : {}) };
}

function attributesOf(spec: JsonObject): RbacAttributes {
  const resource = spec['resourceAttributes'];
  if (isObject(resource)) {
    return {
      verb: asText(resource['verb']),
      group: asText(resource['group']),
      plural: asText(resource['resource']),
      subresource: asText(resource['subresource']),
      namespace: asText(resource['namespace']) || undefined,
      name: asText(resource['name']) || undefined,
    };
  }
  const path = asObject(spec['nonResourceAttributes']);
  return { verb: asText(path['verb']), path: asText(path['path']) };
}

function allRules(context: RequestContext, namespace: string): JsonObject {
  if (!namespace) throw badRequestError('no namespace on request');
  const rules = rulesOfUser(context.storage, context.user, namespace);
  return {
    resourceRules: rules
      .filter((rule) => (rule.resources ?? []).length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames ? { resourceNames } : {}),
      })),
    nonResourceRules: rules
      .filter((rule) => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

function reviewToken(context: RequestContext, token: string, asked: readonly string[]): JsonObject {
  const wanted = asked.length > 0 ? asked : context.auth.audiences;
  const found = userFromToken(context.auth, token, wanted);
  if (!found) return { user: {}, error: '[invalid bearer token]' };
  return { authenticated: true, user: userInfo(found.user), audiences: found.audiences };
}
