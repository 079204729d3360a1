import { condition, kind, labelSelector, listBy, listOf, long, object, text } from './parts.ts';

const selectors = { namespaceSelector: labelSelector, objectSelector: labelSelector };
const resourceRules = listOf(
  object({
    apiGroups: listOf(text),
    apiVersions: listOf(text),
    operations: listOf(text),
    resources: listOf(text),
    resourceNames: listOf(text),
    scope: text,
  }),
);
const matchResources = object({ resourceRules, excludeResourceRules: resourceRules, matchPolicy: text, ...selectors });
const expression = listBy(['name'], object({ name: text, expression: text }));

export const validatingAdmissionPolicy = kind('ValidatingAdmissionPolicy describes which requests are refused.', {
  spec: object({
    failurePolicy: text,
    matchConstraints: matchResources,
    matchConditions: expression,
    variables: expression,
    validations: listOf(object({ expression: text, message: text, messageExpression: text, reason: text })),
    auditAnnotations: listOf(object({ key: text, valueExpression: text })),
    paramKind: object({ apiVersion: text, kind: text }),
  }),
  status: object({
    observedGeneration: long,
    typeChecking: object({ expressionWarnings: listOf(object({ fieldRef: text, warning: text })) }),
    conditions: listBy(['type'], condition),
  }),
});

export const validatingAdmissionPolicyBinding = kind('ValidatingAdmissionPolicyBinding puts a policy in force.', {
  spec: object({
    policyName: text,
    validationActions: listOf(text),
    matchResources,
    paramRef: object({ name: text, namespace: text, parameterNotFoundAction: text, selector: labelSelector }),
  }),
});
