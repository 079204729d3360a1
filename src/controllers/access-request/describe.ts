import { annotations, labels } from '../../api/names.ts';
import type { AccessRequest, NamespacedRef, Permission, RoleRef } from '../../api/openmcp.ts';
import {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  type RoleBinding as RoleBindingObject,
  type Role as RoleObject,
  type ServiceAccount as ServiceAccountObject,
} from '../../kube/core-types.ts';
import { apiVersionOf, type ObjectMeta, type ResourceType } from '../../kube/resource.ts';
import { findMistakes } from './check.ts';

/** A role or binding together with its kind, and the entry of the request that asks for it. */
export type Wanted = { readonly from: string } & (
  | { readonly type: ResourceType<RoleObject>; readonly object: RoleObject }
  | { readonly type: ResourceType<RoleBindingObject>; readonly object: RoleBindingObject }
);

/** Everything that has to exist in the target cluster for one AccessRequest, and nothing else. */
export interface Access {
  readonly serviceAccount: ServiceAccountObject;
  /** Namespaces that are created where missing, each once, with the entry that asks for it. They are never deleted. */
  readonly namespaces: readonly { readonly name: string; readonly from: string }[];
  readonly objects: readonly Wanted[];
}

export interface AccessIdentity {
  /** Eight characters for the request; the name of the ServiceAccount. */
  readonly id: string;
  readonly provider: string;
  /** Namespace of ServiceAccounts in target clusters. */
  readonly accountNamespace: string;
  readonly request: NamespacedRef;
}

/** A request that cannot be granted as it is written. The message names the field. */
export class InvalidRequest extends Error {}

/**
 * What a token request asks for, as objects. Names are those of the openMCP providers: a permission without a name gets
 * `openmcp:permission:<id>:<i>`, a binding to an existing role `openmcp:roleref:<id>:<i>`.
 */
export function describeAccess(spec: NonNullable<AccessRequest['spec']['token']>, identity: AccessIdentity): Access {
  const mistakes = findMistakes(spec);
  if (mistakes.length > 0) throw new InvalidRequest(mistakes.join(' '));
  const permissions = (spec.permissions ?? []).map((permission, i) => describePermission(permission, i, identity));
  const roleRefs = (spec.roleRefs ?? []).map((ref, i) => describeRoleRef(ref, i, identity));
  const objects = [...permissions.flat(), ...roleRefs];
  refuseDoubles(objects);
  return {
    serviceAccount: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadataOf(identity, identity.id, identity.accountNamespace),
    },
    namespaces: namespacesFor(spec.permissions ?? []),
    objects,
  };
}

function namespacesFor(permissions: readonly Permission[]): Access['namespaces'] {
  const found = new Map<string, string>();
  permissions.forEach(({ namespace, disableAutomaticNamespaceCreation }, i) => {
    if (!namespace || disableAutomaticNamespaceCreation || found.has(namespace)) return;
    found.set(namespace, `spec.token.permissions[${i}].namespace`);
  });
  return [...found].map(([name, from]) => ({ name, from }));
}

function describePermission(permission: Permission, i: number, identity: AccessIdentity): Wanted[] {
  const name = permission.name || `openmcp:permission:${identity.id}:${i}`;
  const { namespace } = permission;
  const roleType = namespace ? Role : ClusterRole;
  const role: RoleObject = {
    apiVersion: apiVersionOf(roleType),
    kind: roleType.kind,
    metadata: metadataOf(identity, name, namespace),
    rules: permission.rules,
  };
  const from = `spec.token.permissions[${i}]`;
  const binding = describeBinding(identity, name, namespace, { kind: roleType.kind, name });
  return [
    { from, type: roleType, object: role },
    { from, ...binding },
  ];
}

/** A ClusterRole with a namespace is bound in that namespace only: a request must never give more than it says. */
function describeRoleRef(ref: RoleRef, i: number, identity: AccessIdentity): Wanted {
  const binding = describeBinding(identity, `openmcp:roleref:${identity.id}:${i}`, ref.namespace || undefined, ref);
  return { from: `spec.token.roleRefs[${i}]`, ...binding };
}

function describeBinding(
  identity: AccessIdentity,
  name: string,
  namespace: string | undefined,
  ref: { kind: string; name: string },
): { type: ResourceType<RoleBindingObject>; object: RoleBindingObject } {
  const type = namespace ? RoleBinding : ClusterRoleBinding;
  return {
    type,
    object: {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: metadataOf(identity, name, namespace),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: ref.kind, name: ref.name },
      subjects: [{ kind: 'ServiceAccount', name: identity.id, namespace: identity.accountNamespace }],
    },
  };
}

function metadataOf(identity: AccessIdentity, name: string, namespace: string | undefined): ObjectMeta {
  return {
    name,
    ...(namespace ? { namespace } : {}),
    labels: { [labels.provider]: identity.provider, [labels.access]: identity.id },
    annotations: {
      [annotations.requestNamespace]: identity.request.namespace,
      [annotations.requestName]: identity.request.name,
    },
  };
}

function refuseDoubles(objects: readonly Wanted[]): void {
  const seen = new Set<string>();
  for (const wanted of objects) {
    const key = identityOf(wanted);
    if (seen.has(key)) {
      throw new InvalidRequest(
        `${wanted.from}.name: an entry before has the name ${wanted.object.metadata.name} in the same place. Give them different names.`,
      );
    }
    seen.add(key);
  }
}

/** Kind, namespace and name in one text. */
export const identityOf = ({
  type,
  object,
}: {
  type: ResourceType;
  object: { metadata: { namespace?: string; name: string } };
}): string => `${type.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
