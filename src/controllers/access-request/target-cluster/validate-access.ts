import type { AccessRequest, OidcAccess, Permission, PermissionRule, RoleRef } from '../../../api/openmcp/types.ts';
import type { Subject } from '../../../kube/core-types.ts';
import { checkOidcAccessLimits, checkTokenAccessLimits } from './access-limits.ts';

type TokenAccess = NonNullable<AccessRequest['spec']['token']>;

/**
 * Checks of a token request that the schema cannot express, as messages that begin with the field. A cluster would
 * reject the same fields later, without a reference to the request (`pkg/apis/rbac/validation` of Kubernetes).
 */
export function validateTokenAccess({ permissions = [], roleRefs = [] }: TokenAccess): string[] {
  const excess = checkTokenAccessLimits({ permissions, roleRefs });
  if (excess.length > 0) return excess;
  return [
    ...permissions.flatMap((permission, i) => validatePermission(permission, `spec.token.permissions[${i}]`)),
    ...roleRefs.flatMap((ref, i) => validateRoleRef(ref, `spec.token.roleRefs[${i}]`)),
  ];
}

/** The same for the roles and subjects of an OIDC request. */
export function validateOidcAccess(access: OidcAccess): string[] {
  const { roles = [], roleBindings = [] } = access;
  const excess = checkOidcAccessLimits(access);
  if (excess.length > 0) return excess;
  return [
    ...roles.flatMap((role, i) => validatePermission(role, `spec.oidc.roles[${i}]`)),
    ...roleBindings.flatMap(({ subjects, roleRefs }, i) => [
      ...subjects.flatMap((subject, j) => validateSubject(subject, `spec.oidc.roleBindings[${i}].subjects[${j}]`)),
      ...roleRefs.flatMap((ref, j) => validateRoleRef(ref, `spec.oidc.roleBindings[${i}].roleRefs[${j}]`)),
    ]),
  ];
}

function validateSubject({ kind, name, namespace }: Subject, field: string): string[] {
  if (!['User', 'Group', 'ServiceAccount'].includes(kind))
    return [`${field}.kind: ${kind} is not supported. Use User, Group or ServiceAccount.`];
  if (name.replace(/^::/, '') === '') return [`${field}.name: it is empty. Set it.`];
  if (kind !== 'ServiceAccount') return [];
  return namespace
    ? validateNamespace(namespace, `${field}.namespace`)
    : [`${field}.namespace: required for a ServiceAccount. Set it.`];
}

function validatePermission({ name, namespace, rules }: Permission, field: string): string[] {
  return [
    ...(name ? validateRoleName(name, `${field}.name`) : []),
    ...(namespace ? validateNamespace(namespace, `${field}.namespace`) : []),
    ...rules.flatMap((rule, i) => validateRule(rule, `${field}.rules[${i}]`, Boolean(namespace))),
  ];
}

function validateRoleRef({ kind, name, namespace }: RoleRef, field: string): string[] {
  const unplaced = kind === 'Role' && !namespace;
  // The contract: a namespace "may not be set if the kind is 'ClusterRole'". ADR 7.
  const placed = kind === 'ClusterRole' && Boolean(namespace);
  const remedy = `Omit it to bind ${name} in the whole cluster, or use a Role of that namespace.`;
  return [
    ...validateRoleName(name, `${field}.name`),
    ...(namespace && !placed ? validateNamespace(namespace, `${field}.namespace`) : []),
    ...(unplaced ? [`${field}.namespace: required for a Role. Set it.`] : []),
    ...(placed ? [`${field}.namespace: not allowed for a ClusterRole. ${remedy}`] : []),
  ];
}

/** Role names may contain nearly any character, but they become segments of URL paths. */
const validateRoleName = (name: string, field: string): string[] =>
  ['.', '..'].includes(name) || /[/%]/.test(name)
    ? [`${field}: ${name} is not a valid name of a role. Use a name without slashes and percent signs.`]
    : [];

const validateNamespace = (namespace: string, field: string): string[] =>
  namespace.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace)
    ? []
    : [`${field}: ${namespace} is not a valid namespace. Use up to 63 lower-case letters, digits and dashes.`];

function validateRule(rule: PermissionRule, field: string, namespaced: boolean): string[] {
  const has = (list: readonly string[] | undefined): boolean => (list ?? []).length > 0;
  const verbs = has(rule.verbs) ? [] : [`${field}.verbs: it is empty. Add at least one, like get.`];
  if (has(rule.nonResourceURLs)) {
    const both = has(rule.apiGroups) || has(rule.resources) || has(rule.resourceNames);
    return [
      ...verbs,
      ...(namespaced
        ? [`${field}.nonResourceURLs: not allowed with a namespace. Use a permission without a namespace.`]
        : []),
      ...(both ? [`${field}: resources and nonResourceURLs exclude each other. Use two rules.`] : []),
    ];
  }
  return [
    ...verbs,
    ...(has(rule.apiGroups) ? [] : [`${field}.apiGroups: it is empty. Add at least one; "" is the core group.`]),
    ...(has(rule.resources) ? [] : [`${field}.resources: it is empty. Add at least one, like configmaps.`]),
  ];
}
