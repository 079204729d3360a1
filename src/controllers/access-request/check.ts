import type { AccessRequest, OidcAccess, Permission, PolicyRule, RoleRef } from '../../api/openmcp.ts';
import type { Subject } from '../../kube/core-types.ts';
import { findExcess, findOidcExcess } from './excess.ts';

type Token = NonNullable<AccessRequest['spec']['token']>;

/**
 * What cannot be meant in a token request, as sentences that begin with the field. The schema lets it through, and a
 * cluster would refuse it later and elsewhere (`pkg/apis/rbac/validation` of Kubernetes).
 */
export function findMistakes({ permissions = [], roleRefs = [] }: Token): string[] {
  const excess = findExcess({ permissions, roleRefs });
  if (excess.length > 0) return excess;
  return [
    ...permissions.flatMap((permission, i) => ofPermission(permission, `spec.token.permissions[${i}]`)),
    ...roleRefs.flatMap((ref, i) => ofRoleRef(ref, `spec.token.roleRefs[${i}]`)),
  ];
}

/** The same for an OIDC request, as far as it is about roles and whom they are for. */
export function findOidcMistakes(asked: OidcAccess): string[] {
  const { roles = [], roleBindings = [] } = asked;
  const excess = findOidcExcess(asked);
  if (excess.length > 0) return excess;
  return [
    ...roles.flatMap((role, i) => ofPermission(role, `spec.oidc.roles[${i}]`)),
    ...roleBindings.flatMap(({ subjects, roleRefs }, i) => [
      ...subjects.flatMap((subject, j) => ofSubject(subject, `spec.oidc.roleBindings[${i}].subjects[${j}]`)),
      ...roleRefs.flatMap((ref, j) => ofRoleRef(ref, `spec.oidc.roleBindings[${i}].roleRefs[${j}]`)),
    ]),
  ];
}

function ofSubject({ kind, name, namespace }: Subject, field: string): string[] {
  if (!['User', 'Group', 'ServiceAccount'].includes(kind))
    return [`${field}.kind: ${kind} cannot be given rights. Use User, Group or ServiceAccount.`];
  if (name.replace(/^::/, '') === '') return [`${field}.name: it is empty. Say who is meant.`];
  if (kind !== 'ServiceAccount') return [];
  return namespace
    ? ofNamespace(namespace, `${field}.namespace`)
    : [`${field}.namespace: a ServiceAccount lies in a namespace. Say in which.`];
}

function ofPermission({ name, namespace, rules }: Permission, field: string): string[] {
  return [
    ...(name ? ofName(name, `${field}.name`) : []),
    ...(namespace ? ofNamespace(namespace, `${field}.namespace`) : []),
    ...rules.flatMap((rule, i) => ofRule(rule, `${field}.rules[${i}]`, Boolean(namespace))),
  ];
}

function ofRoleRef({ kind, name, namespace }: RoleRef, field: string): string[] {
  const homeless = kind === 'Role' && !namespace;
  // The contract: a namespace "may not be set if the kind is 'ClusterRole'". ADR 7.
  const placed = kind === 'ClusterRole' && Boolean(namespace);
  const remedy = `Leave it out to bind ${name} in the whole cluster, or name a Role of that namespace.`;
  return [
    ...ofName(name, `${field}.name`),
    ...(namespace && !placed ? ofNamespace(namespace, `${field}.namespace`) : []),
    ...(homeless ? [`${field}.namespace: a Role lies in a namespace. Say in which.`] : []),
    ...(placed ? [`${field}.namespace: a ClusterRole lies in no namespace. ${remedy}`] : []),
  ];
}

/** Names of roles may hold nearly anything, but they are parts of paths. */
const ofName = (name: string, field: string): string[] =>
  ['.', '..'].includes(name) || /[/%]/.test(name)
    ? [`${field}: ${name} cannot be the name of a role. Use one without slashes and percent signs.`]
    : [];

const ofNamespace = (namespace: string, field: string): string[] =>
  namespace.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace)
    ? []
    : [`${field}: ${namespace} cannot be a namespace. Use up to 63 lower-case letters, digits and dashes.`];

function ofRule(rule: PolicyRule, field: string, namespaced: boolean): string[] {
  const has = (list: readonly string[] | undefined): boolean => (list ?? []).length > 0;
  const verbs = has(rule.verbs) ? [] : [`${field}.verbs: it is empty. Name at least one, like get.`];
  if (has(rule.nonResourceURLs)) {
    const both = has(rule.apiGroups) || has(rule.resources) || has(rule.resourceNames);
    return [
      ...verbs,
      ...(namespaced
        ? [`${field}.nonResourceURLs: URLs lie in no namespace. Ask for them in a permission without one.`]
        : []),
      ...(both ? [`${field}: it is about resources and about nonResourceURLs. Make two rules of it.`] : []),
    ];
  }
  return [
    ...verbs,
    ...(has(rule.apiGroups) ? [] : [`${field}.apiGroups: it is empty. Name at least one; "" is the core group.`]),
    ...(has(rule.resources) ? [] : [`${field}.resources: it is empty. Name at least one, like configmaps.`]),
  ];
}
