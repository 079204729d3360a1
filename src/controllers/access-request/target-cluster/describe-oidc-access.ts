import type { OidcAccess } from '../../../api/openmcp/types.ts';
import type { Subject } from '../../../kube/core-types.ts';
import { toDesiredTrust } from '../../rollout/oidc-trust/desired-trust.ts';
import {
  type AccessIdentity,
  type DesiredAccess,
  describeBinding,
  describeNamespaces,
  describeRole,
  findDuplicateNames,
  throwIfInvalid,
} from './desired-access.ts';
import { validateOidcAccess } from './validate-access.ts';

/**
 * The objects of an OIDC request in the target cluster. Names are those of the openMCP providers: a role without a name
 * gets `openmcp:<id>:<i>`, the binding of entry i to its role j `openmcp:<id>:<i>:<j>`.
 */
export function describeOidcAccess(spec: OidcAccess, identity: AccessIdentity): DesiredAccess {
  const { id } = identity;
  const { roles = [], roleBindings = [] } = spec;
  const objects = [
    ...roles.map((role, i) => describeRole(role, role.name || `openmcp:${id}:${i}`, `spec.oidc.roles[${i}]`, identity)),
    ...roleBindings.flatMap(({ subjects, roleRefs }, i) => {
      const whom = subjects.map((subject) => toSubject(subject, spec));
      return roleRefs.map((ref, j) => {
        const from = `spec.oidc.roleBindings[${i}].roleRefs[${j}]`;
        return describeBinding(ref, `openmcp:${id}:${i}:${j}`, from, whom, identity);
      });
    }),
  ];
  throwIfInvalid([...validateOidcAccess(spec), ...findDuplicateNames(objects)]);
  return { id, request: identity.request, namespaces: describeNamespaces(roles, 'spec.oidc.roles'), objects };
}

/** Users and groups with the prefix that the API server adds. Two colons before a name mark it as complete. */
function toSubject({ kind, name, namespace }: Subject, spec: OidcAccess): Subject {
  const desired = toDesiredTrust(spec);
  const prefix = { User: desired.usernamePrefix, Group: desired.groupsPrefix }[kind] ?? '';
  const whole = name.startsWith('::') ? name.slice(2) : `${prefix}${name}`;
  if (kind === 'ServiceAccount') return { kind, name: whole, ...(namespace ? { namespace } : {}) };
  return { apiGroup: 'rbac.authorization.k8s.io', kind, name: whole };
}
