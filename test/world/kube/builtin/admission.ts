import {
  atomicListSchema,
  conditionSchema,
  int64Schema,
  keyedListSchema,
  kindSchema,
  labelSelectorSchema,
  structSchema,
  textSchema,
} from './schema-parts.ts';

const selectors = { namespaceSelector: labelSelectorSchema, objectSelector: labelSelectorSchema };
const resourceRules = atomicListSchema(
  structSchema({
    apiGroups: atomicListSchema(textSchema),
    apiVersions: atomicListSchema(textSchema),
    operations: atomicListSchema(textSchema),
    resources: atomicListSchema(textSchema),
    resourceNames: atomicListSchema(textSchema),
    scope: textSchema,
  }),
);
const matchResources = structSchema({
  resourceRules,
  excludeResourceRules: resourceRules,
  matchPolicy: textSchema,
  ...selectors,
});
const expression = keyedListSchema(['name'], structSchema({ name: textSchema, expression: textSchema }));

export const validatingAdmissionPolicy = kindSchema('ValidatingAdmissionPolicy describes which requests are refused.', {
  spec: structSchema({
    failurePolicy: textSchema,
    matchConstraints: matchResources,
    matchConditions: expression,
    variables: expression,
    validations: atomicListSchema(
      structSchema({ expression: textSchema, message: textSchema, messageExpression: textSchema, reason: textSchema }),
    ),
    auditAnnotations: atomicListSchema(structSchema({ key: textSchema, valueExpression: textSchema })),
    paramKind: structSchema({ apiVersion: textSchema, kind: textSchema }),
  }),
  status: structSchema({
    observedGeneration: int64Schema,
    typeChecking: structSchema({
      expressionWarnings: atomicListSchema(structSchema({ fieldRef: textSchema, warning: textSchema })),
    }),
    conditions: keyedListSchema(['type'], conditionSchema),
  }),
});

export const validatingAdmissionPolicyBinding = kindSchema('ValidatingAdmissionPolicyBinding puts a policy in force.', {
  spec: structSchema({
    policyName: textSchema,
    validationActions: atomicListSchema(textSchema),
    matchResources,
    paramRef: structSchema({
      name: textSchema,
      namespace: textSchema,
      parameterNotFoundAction: textSchema,
      selector: labelSelectorSchema,
    }),
  }),
});
