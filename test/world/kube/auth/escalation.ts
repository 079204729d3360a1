import type { ApiResource } from '../builtin/resources.ts';
import { forbiddenError, notFoundError } from '../errors.ts';
import { asObject, asText, equal } from '../json.ts';
import type { RequestContext } from '../request/context.ts';
import type { ApiObject } from '../storage/store.ts';
import {
  authorizeByRbac,
  describeRules,
  type RbacRule,
  rbacStorage,
  rulesOfRole,
  rulesOfUser,
  uncoveredRules,
} from './rbac.ts';

const group = 'rbac.authorization.k8s.io';

/**
 * A user may grant only permissions that the user has, unless it may `escalate` roles or `bind` them. Throws 403, or
 * 404.
 */
export function checkEscalation(
  context: RequestContext,
  resource: ApiResource,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (resource.group !== group) return;
  const isBinding = resource.kind.endsWith('Binding');
  const part = isBinding ? ['roleRef', 'subjects'] : ['rules', 'aggregationRule'];
  if (old && part.every((field) => equal(object[field], old[field]))) return;
  if (mayEscalateOrBind(context, resource, object, isBinding)) return;
  const namespace = object.metadata.namespace;
  const wanted = isBinding ? rulesBehind(context, object) : rulesOfRole(object);
  const missing = uncoveredRules(wanted, rulesOfUser(context.storage, context.user, namespace));
  if (missing.length === 0) return;
  const { name, groups } = context.user;
  throw forbiddenError(
    resource,
    object.metadata.name,
    `user ${JSON.stringify(name)} (groups=[${groups.map((g) => JSON.stringify(g)).join(' ')}]) is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}`,
  );
}

function mayEscalateOrBind(
  context: RequestContext,
  resource: ApiResource,
  object: ApiObject,
  isBinding: boolean,
): boolean {
  const ref = asObject(object['roleRef']);
  const { allowed } = authorizeByRbac(context.storage, context.user, {
    verb: isBinding ? 'bind' : 'escalate',
    group,
    plural: isBinding ? (ref['kind'] === 'Role' ? 'roles' : 'clusterroles') : resource.plural,
    subresource: '',
    namespace: object.metadata.namespace,
    name: isBinding ? asText(ref['name']) : object.metadata.name,
  });
  return allowed;
}

function rulesBehind(context: RequestContext, binding: ApiObject): RbacRule[] {
  const ref = asObject(binding['roleRef']);
  const name = asText(ref['name']);
  const role =
    ref['kind'] === 'Role'
      ? context.storage.read(rbacStorage('roles'), binding.metadata.namespace, name)
      : context.storage.read(rbacStorage('clusterroles'), undefined, name);
  if (!role) {
    const kind = asText(ref['kind']);
    throw notFoundError({ group, plural: kind === 'Role' ? 'roles' : 'clusterroles', kind }, name);
  }
  return rulesOfRole(role);
}
