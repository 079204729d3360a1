import { flag, free, kind, listOf, long, mapOf, object, objectReference, text, time } from './parts.ts';

/** Kinds that are asked and answered, and never stored. */

const resourceAttributes = object({
  namespace: text,
  verb: text,
  group: text,
  version: text,
  resource: text,
  subresource: text,
  name: text,
  fieldSelector: free,
  labelSelector: free,
});
const nonResourceAttributes = object({ path: text, verb: text });
const decision = object({ allowed: flag, denied: flag, reason: text, evaluationError: text });
const userInfo = object({ username: text, uid: text, groups: listOf(text), extra: mapOf(listOf(text)) });

export const selfSubjectReview = kind('SelfSubjectReview tells who the caller is.', { status: object({ userInfo }) });
export const selfSubjectAccessReview = kind('SelfSubjectAccessReview checks what the caller may do.', {
  spec: object({ resourceAttributes, nonResourceAttributes }),
  status: decision,
});
export const subjectAccessReview = kind('SubjectAccessReview checks what a user or group may do.', {
  spec: object({
    resourceAttributes,
    nonResourceAttributes,
    user: text,
    groups: listOf(text),
    extra: mapOf(listOf(text)),
    uid: text,
  }),
  status: decision,
});
export const selfSubjectRulesReview = kind('SelfSubjectRulesReview lists what the caller may do in a namespace.', {
  spec: object({ namespace: text }),
  status: object({
    resourceRules: listOf(free),
    nonResourceRules: listOf(free),
    incomplete: flag,
    evaluationError: text,
  }),
});
export const tokenReview = kind('TokenReview checks a bearer token.', {
  spec: object({ token: text, audiences: listOf(text) }),
  status: object({ authenticated: flag, user: userInfo, audiences: listOf(text), error: text }),
});
export const tokenRequest = kind('TokenRequest asks for a token of a ServiceAccount.', {
  spec: object({ audiences: listOf(text), expirationSeconds: long, boundObjectRef: objectReference }),
  status: object({ token: text, expirationTimestamp: time }),
});
