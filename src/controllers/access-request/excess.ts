import type { OidcAccess, Permission, RoleRef } from '../../api/openmcp.ts';

/** Objects in the target cluster that one request may ask for are looked at, compared and written one by one. */
const most = {
  /** Permissions, roles, references to roles, and bindings, of each as many. */
  entries: 256,
  /** Rules of one permission. */
  rules: 256,
  /** Each subject of a binding once for each of its references. */
  subjects: 10_000,
} as const;

interface Asked {
  readonly permissions?: readonly Permission[] | undefined;
  readonly roleRefs?: readonly RoleRef[] | undefined;
}

/** Where a token request asks for more than one request may, as sentences that begin with the field. */
export const findExcess = ({ permissions = [], roleRefs = [] }: Asked): string[] => [
  ...ofList(permissions.length, 'spec.token.permissions'),
  ...ofList(roleRefs.length, 'spec.token.roleRefs'),
  ...ofRules(permissions, 'spec.token.permissions'),
];

/** The same for an OIDC request. */
export function findOidcExcess({ roles = [], roleBindings = [] }: OidcAccess): string[] {
  const bindings = roleBindings.reduce((sum, { roleRefs }) => sum + roleRefs.length, 0);
  const subjects = roleBindings.reduce((sum, one) => sum + one.subjects.length * one.roleRefs.length, 0);
  return [
    ...ofList(roles.length, 'spec.oidc.roles'),
    ...ofList(Math.max(bindings, roleBindings.length), 'spec.oidc.roleBindings'),
    ...ofRules(roles, 'spec.oidc.roles'),
    ...ofList(subjects, 'spec.oidc.roleBindings: subjects', most.subjects),
  ];
}

const ofRules = (permissions: readonly Permission[], field: string): string[] =>
  permissions
    .slice(0, most.entries)
    .flatMap(({ rules }, i) => ofList(rules.length, `${field}[${i}].rules`, most.rules));

const ofList = (count: number, field: string, limit: number = most.entries): string[] =>
  count <= limit ? [] : [`${field}: ${count} are asked for, and ${limit} at most may be. Make several requests of it.`];
