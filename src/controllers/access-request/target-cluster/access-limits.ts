import type { OidcAccess, Permission, RoleRef } from '../../../api/openmcp/types.ts';

/** Limits of one request: its objects in the target cluster are read, compared and written one by one. */
const accessLimits = {
  /** Maximum number of permissions, of roles, of role references and of bindings. */
  entries: 256,
  /** Maximum number of rules of one permission. */
  rules: 256,
  /** Each subject of a binding counts once for each of its references. */
  subjects: 10_000,
} as const;

interface RequestedTokenAccess {
  readonly permissions?: readonly Permission[] | undefined;
  readonly roleRefs?: readonly RoleRef[] | undefined;
}

/** The limits that a token request exceeds, as messages that begin with the field. */
export const checkTokenAccessLimits = ({ permissions = [], roleRefs = [] }: RequestedTokenAccess): string[] => [
  ...checkCount(permissions.length, 'spec.token.permissions'),
  ...checkCount(roleRefs.length, 'spec.token.roleRefs'),
  ...checkRuleCounts(permissions, 'spec.token.permissions'),
];

export function checkOidcAccessLimits({ roles = [], roleBindings = [] }: OidcAccess): string[] {
  const bindings = roleBindings.reduce((sum, { roleRefs }) => sum + roleRefs.length, 0);
  const subjects = roleBindings.reduce((sum, one) => sum + one.subjects.length * one.roleRefs.length, 0);
  return [
    ...checkCount(roles.length, 'spec.oidc.roles'),
    ...checkCount(Math.max(bindings, roleBindings.length), 'spec.oidc.roleBindings'),
    ...checkRuleCounts(roles, 'spec.oidc.roles'),
    ...checkCount(subjects, 'spec.oidc.roleBindings: subjects', accessLimits.subjects),
  ];
}

const checkRuleCounts = (permissions: readonly Permission[], field: string): string[] =>
  permissions
    .slice(0, accessLimits.entries)
    .flatMap(({ rules }, i) => checkCount(rules.length, `${field}[${i}].rules`, accessLimits.rules));

const checkCount = (count: number, field: string, limit: number = accessLimits.entries): string[] =>
  count <= limit ? [] : [`${field}: ${count} entries, at most ${limit} are allowed. Use several AccessRequests.`];
