import {
  atomicListSchema,
  atomicObjectSchema,
  kindSchema,
  labelSelectorSchema,
  structSchema,
  textSchema,
} from './schema-parts.ts';

const rules = atomicListSchema(
  structSchema({
    verbs: atomicListSchema(textSchema),
    apiGroups: atomicListSchema(textSchema),
    resources: atomicListSchema(textSchema),
    resourceNames: atomicListSchema(textSchema),
    nonResourceURLs: atomicListSchema(textSchema),
  }),
);
const subjects = atomicListSchema(
  atomicObjectSchema({ kind: textSchema, apiGroup: textSchema, name: textSchema, namespace: textSchema }),
);
const roleRef = atomicObjectSchema({ apiGroup: textSchema, kind: textSchema, name: textSchema });

export const roleSchema = kindSchema('Role is a namespaced, logical grouping of PolicyRules.', { rules });
export const clusterRoleSchema = kindSchema('ClusterRole is a cluster level, logical grouping of PolicyRules.', {
  rules,
  aggregationRule: structSchema({ clusterRoleSelectors: atomicListSchema(labelSelectorSchema) }),
});
export const roleBindingSchema = kindSchema('RoleBinding references a role, but does not contain it.', {
  subjects,
  roleRef,
});
export const clusterRoleBindingSchema = kindSchema(
  'ClusterRoleBinding references a ClusterRole, but does not contain it.',
  {
    subjects,
    roleRef,
  },
);
