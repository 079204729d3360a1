import { atomicObject, kind, labelSelector, listOf, object, text } from './parts.ts';

const rules = listOf(
  object({
    verbs: listOf(text),
    apiGroups: listOf(text),
    resources: listOf(text),
    resourceNames: listOf(text),
    nonResourceURLs: listOf(text),
  }),
);
const subjects = listOf(atomicObject({ kind: text, apiGroup: text, name: text, namespace: text }));
const roleRef = atomicObject({ apiGroup: text, kind: text, name: text });

export const role = kind('Role is a namespaced, logical grouping of PolicyRules.', { rules });
export const clusterRole = kind('ClusterRole is a cluster level, logical grouping of PolicyRules.', {
  rules,
  aggregationRule: object({ clusterRoleSelectors: listOf(labelSelector) }),
});
export const roleBinding = kind('RoleBinding references a role, but does not contain it.', { subjects, roleRef });
export const clusterRoleBinding = kind('ClusterRoleBinding references a ClusterRole, but does not contain it.', {
  subjects,
  roleRef,
});
