import {
  atomicListSchema,
  flagSchema,
  freeFormSchema,
  int64Schema,
  kindSchema,
  mapSchema,
  objectReferenceSchema,
  structSchema,
  textSchema,
  timeSchema,
} from './schema-parts.ts';

/** Review kinds: they are answered and never stored. */

const resourceAttributes = structSchema({
  namespace: textSchema,
  verb: textSchema,
  group: textSchema,
  version: textSchema,
  resource: textSchema,
  subresource: textSchema,
  name: textSchema,
  fieldSelector: freeFormSchema,
  labelSelector: freeFormSchema,
});
const nonResourceAttributes = structSchema({ path: textSchema, verb: textSchema });
const decision = structSchema({
  allowed: flagSchema,
  denied: flagSchema,
  reason: textSchema,
  evaluationError: textSchema,
});
const userInfo = structSchema({
  username: textSchema,
  uid: textSchema,
  groups: atomicListSchema(textSchema),
  extra: mapSchema(atomicListSchema(textSchema)),
});

export const selfSubjectReviewSchema = kindSchema('SelfSubjectReview tells who the caller is.', {
  status: structSchema({ userInfo }),
});
export const selfSubjectAccessReviewSchema = kindSchema('SelfSubjectAccessReview checks what the caller may do.', {
  spec: structSchema({ resourceAttributes, nonResourceAttributes }),
  status: decision,
});
export const subjectAccessReviewSchema = kindSchema('SubjectAccessReview checks what a user or group may do.', {
  spec: structSchema({
    resourceAttributes,
    nonResourceAttributes,
    user: textSchema,
    groups: atomicListSchema(textSchema),
    extra: mapSchema(atomicListSchema(textSchema)),
    uid: textSchema,
  }),
  status: decision,
});
export const selfSubjectRulesReviewSchema = kindSchema(
  'SelfSubjectRulesReview lists what the caller may do in a namespace.',
  {
    spec: structSchema({ namespace: textSchema }),
    status: structSchema({
      resourceRules: atomicListSchema(freeFormSchema),
      nonResourceRules: atomicListSchema(freeFormSchema),
      incomplete: flagSchema,
      evaluationError: textSchema,
    }),
  },
);
export const tokenReviewSchema = kindSchema('TokenReview checks a bearer token.', {
  spec: structSchema({ token: textSchema, audiences: atomicListSchema(textSchema) }),
  status: structSchema({
    authenticated: flagSchema,
    user: userInfo,
    audiences: atomicListSchema(textSchema),
    error: textSchema,
  }),
});
export const tokenRequestBodySchema = kindSchema('TokenRequest asks for a token of a ServiceAccount.', {
  spec: structSchema({
    audiences: atomicListSchema(textSchema),
    expirationSeconds: int64Schema,
    boundObjectRef: objectReferenceSchema,
  }),
  status: structSchema({ token: textSchema, expirationTimestamp: timeSchema }),
});
