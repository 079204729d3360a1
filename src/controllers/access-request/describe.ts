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
  type Subject,
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
  /** The mark of the request on all of it. */
  readonly id: string;
  /** Not where people come with tokens of their own. */
  readonly serviceAccount?: ServiceAccountObject;
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
  const { id } = identity;
  const permissions = spec.permissions ?? [];
  const subjects = [{ kind: 'ServiceAccount', name: id, namespace: identity.accountNamespace }];
  const objects = [
    ...permissions.flatMap((permission, i) => {
      const name = permission.name || `openmcp:permission:${id}:${i}`;
      const from = `spec.token.permissions[${i}]`;
      const role = describeRole(permission, name, from, identity);
      const { namespace } = permission;
      const ref: RoleRef = { kind: namespace ? 'Role' : 'ClusterRole', name, ...(namespace ? { namespace } : {}) };
      return [role, describeBinding(ref, name, from, subjects, identity)];
    }),
    ...(spec.roleRefs ?? []).map((ref, i) =>
      describeBinding(ref, `openmcp:roleref:${id}:${i}`, `spec.token.roleRefs[${i}]`, subjects, identity),
    ),
  ];
  refuseDoubles(objects);
  return {
    id,
    serviceAccount: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadataOf(identity, id, identity.accountNamespace),
    },
    namespaces: namespacesFor(permissions, 'spec.token.permissions'),
    objects,
  };
}

/** The namespaces that permissions want made; `field` is where they stand. */
export function namespacesFor(permissions: readonly Permission[], field: string): Access['namespaces'] {
  const found = new Map<string, string>();
  permissions.forEach(({ namespace, disableAutomaticNamespaceCreation }, i) => {
    if (!namespace || disableAutomaticNamespaceCreation || found.has(namespace)) return;
    found.set(namespace, `${field}[${i}].namespace`);
  });
  return [...found].map(([name, from]) => ({ name, from }));
}

/** The role that a permission is. */
export function describeRole(permission: Permission, name: string, from: string, identity: AccessIdentity): Wanted {
  const type = permission.namespace ? Role : ClusterRole;
  const object: RoleObject = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: metadataOf(identity, name, permission.namespace),
    rules: permission.rules,
  };
  return { from, type, object };
}

/** A ClusterRole with a namespace is bound in that namespace only: a request must never give more than it says. */
export function describeBinding(
  ref: RoleRef,
  name: string,
  from: string,
  subjects: readonly Subject[],
  identity: AccessIdentity,
): Wanted {
  const type = ref.namespace ? RoleBinding : ClusterRoleBinding;
  const object: RoleBindingObject = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: metadataOf(identity, name, ref.namespace),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: ref.kind, name: ref.name },
    subjects: [...subjects],
  };
  return { from, type, object };
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

export function refuseDoubles(objects: readonly Wanted[]): void {
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
