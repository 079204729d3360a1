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

/** A role or binding together with its kind. */
export type Wanted =
  | { readonly type: ResourceType<RoleObject>; readonly object: RoleObject }
  | { readonly type: ResourceType<RoleBindingObject>; readonly object: RoleBindingObject };

/** Everything that has to exist in the target cluster for one AccessRequest, and nothing else. */
export interface Access {
  readonly serviceAccount: ServiceAccountObject;
  /** Namespaces that are created where missing. They are never deleted. */
  readonly namespaces: readonly string[];
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
  const permissions = (spec.permissions ?? []).map((permission, i) => describePermission(permission, i, identity));
  const roleRefs = (spec.roleRefs ?? []).map((ref, i) => describeRoleRef(ref, i, identity));
  const objects = [...permissions.flat(), ...roleRefs];
  refuseDoubles(objects);
  const namespaces = (spec.permissions ?? [])
    .filter((permission) => permission.namespace && !permission.disableAutomaticNamespaceCreation)
    .map((permission) => permission.namespace ?? '');
  return {
    serviceAccount: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadataOf(identity, identity.id, identity.accountNamespace),
    },
    namespaces: [...new Set(namespaces)],
    objects,
  };
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
  return [{ type: roleType, object: role }, describeBinding(identity, name, namespace, { kind: roleType.kind, name })];
}

/**
 * A ClusterRole with a namespace is bound in that namespace only: a request must never give more than it says. The
 * schema lets a Role without a namespace through; there is nothing it could mean.
 */
function describeRoleRef(ref: RoleRef, i: number, identity: AccessIdentity): Wanted {
  if (ref.kind === 'Role' && !ref.namespace) {
    throw new InvalidRequest(`spec.token.roleRefs[${i}].namespace: a Role lies in a namespace. Say in which.`);
  }
  return describeBinding(identity, `openmcp:roleref:${identity.id}:${i}`, ref.namespace || undefined, ref);
}

function describeBinding(
  identity: AccessIdentity,
  name: string,
  namespace: string | undefined,
  ref: { kind: string; name: string },
): Wanted {
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
        `spec.token.permissions: two entries have the name ${wanted.object.metadata.name} in the same place. Give them different names.`,
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
