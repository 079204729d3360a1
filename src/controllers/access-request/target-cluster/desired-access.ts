import { labels, maxLabelLength } from '../../../api/names.ts';
import type { AccessRequest, Permission, RoleRef } from '../../../api/openmcp/types.ts';
import {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  type RoleBinding as RoleBindingObject,
  type Role as RoleObject,
  type ServiceAccount as ServiceAccountObject,
  type Subject,
} from '../../../kube/core-types.ts';
import { apiVersionOf, type ObjectMeta, type ResourceType } from '../../../kube/resource.ts';
import { shortenName } from '../../../lib/hash.ts';
import { type AccessRequestIdentity, describeRequestMark } from './request-mark.ts';
import { validateTokenAccess } from './validate-access.ts';

/** A role or binding with its kind, and the field of the request that it comes from. */
export type DesiredAccessObject = { readonly from: string } & (
  | { readonly type: ResourceType<RoleObject>; readonly object: RoleObject }
  | { readonly type: ResourceType<RoleBindingObject>; readonly object: RoleBindingObject }
);

/** The complete desired state of one AccessRequest in the target cluster. */
export interface DesiredAccess {
  /** The value of the label on all objects of the request. */
  readonly id: string;
  readonly request: AccessRequestIdentity;
  /** Undefined for OIDC users, who have their own tokens. */
  readonly serviceAccount?: ServiceAccountObject;
  /** Namespaces to create if they are missing, each once with the field that it comes from. They are never deleted. */
  readonly namespaces: readonly { readonly name: string; readonly from: string }[];
  readonly objects: readonly DesiredAccessObject[];
}

export interface AccessIdentity {
  /** Eight characters that identify the request; also the name of the ServiceAccount. */
  readonly id: string;
  readonly provider: string;
  /** Namespace of ServiceAccounts in target clusters. */
  readonly accountNamespace: string;
  readonly request: AccessRequestIdentity;
}

/** A request that cannot be granted with its current spec. The message names the field. */
export class InvalidAccessRequestError extends Error {}

/**
 * The objects of a token request. Names are those of the openMCP providers: a permission without a name gets
 * `openmcp:permission:<id>:<i>`, a binding to an existing role `openmcp:roleref:<id>:<i>`.
 */
export function describeTokenAccess(
  spec: NonNullable<AccessRequest['spec']['token']>,
  identity: AccessIdentity,
): DesiredAccess {
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
  throwIfInvalid([...validateTokenAccess(spec), ...findDuplicateNames(objects)]);
  return {
    id,
    request: identity.request,
    serviceAccount: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: describeObjectMetadata(identity, id, identity.accountNamespace),
    },
    namespaces: describeNamespaces(permissions, 'spec.token.permissions'),
    objects,
  };
}

/** The namespaces that permissions need; `field` is the field of the permissions. */
export function describeNamespaces(permissions: readonly Permission[], field: string): DesiredAccess['namespaces'] {
  const found = new Map<string, string>();
  permissions.forEach(({ namespace, disableAutomaticNamespaceCreation }, i) => {
    if (!namespace || disableAutomaticNamespaceCreation || found.has(namespace)) return;
    found.set(namespace, `${field}[${i}].namespace`);
  });
  return [...found].map(([name, from]) => ({ name, from }));
}

/** The Role or ClusterRole of a permission. */
export function describeRole(
  permission: Permission,
  name: string,
  from: string,
  identity: AccessIdentity,
): DesiredAccessObject {
  const type = permission.namespace ? Role : ClusterRole;
  const object: RoleObject = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: describeObjectMetadata(identity, name, permission.namespace),
    rules: permission.rules,
  };
  return { from, type, object };
}

/** A RoleBinding in the namespace of a Role, otherwise a ClusterRoleBinding. */
export function describeBinding(
  ref: RoleRef,
  name: string,
  from: string,
  subjects: readonly Subject[],
  identity: AccessIdentity,
): DesiredAccessObject {
  const type = ref.namespace ? RoleBinding : ClusterRoleBinding;
  const object: RoleBindingObject = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: describeObjectMetadata(identity, name, ref.namespace),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: ref.kind, name: ref.name },
    subjects: [...subjects],
  };
  return { from, type, object };
}

function describeObjectMetadata(identity: AccessIdentity, name: string, namespace: string | undefined): ObjectMeta {
  return {
    name,
    ...(namespace ? { namespace } : {}),
    labels: {
      [labels.provider]: identity.provider,
      [labels.access]: identity.id,
      [labels.managedByName]: shortenName(identity.request.name, maxLabelLength),
      [labels.managedByNamespace]: shortenName(identity.request.namespace, maxLabelLength),
    },
    annotations: describeRequestMark(identity.request),
  };
}

/** Duplicate names of objects of the same kind and namespace, each entry once. */
export function findDuplicateNames(objects: readonly DesiredAccessObject[]): string[] {
  const owners = new Map<string, string>();
  const doubles = new Set<string>();
  for (const wanted of objects) {
    const key = kindKeyText(wanted);
    if (!owners.has(key)) owners.set(key, wanted.from);
    else
      doubles.add(
        `${wanted.from}.name: the name ${wanted.object.metadata.name} is used by an earlier entry. Use another name.`,
      );
  }
  return [...doubles];
}

/** Throws one {@link InvalidAccessRequestError} with all mistakes, if there are any. */
export function throwIfInvalid(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new InvalidAccessRequestError(mistakes.join(' '));
}

/** Kind, namespace and name as one key. */
export const kindKeyText = ({
  type,
  object,
}: {
  type: ResourceType;
  object: { metadata: { namespace?: string; name: string } };
}): string => `${type.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
