import type { Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { forbidden, notFound } from './errors.ts';
import { asObject, asText, equal } from './json.ts';
import { authorize, describeRules, type PolicyRule, rbacStorage, rulesIn, rulesOf, uncovered } from './rbac.ts';
import type { ApiObject } from './store.ts';

const group = 'rbac.authorization.k8s.io';

/** Nobody may grant what he does not hold, unless he may `escalate` roles or `bind` them. Throws 403, or 404. */
export function checkEscalation(
  context: Context,
  resource: Resource,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (resource.group !== group) return;
  const isBinding = resource.kind.endsWith('Binding');
  const part = isBinding ? ['roleRef', 'subjects'] : ['rules', 'aggregationRule'];
  if (old && part.every((field) => equal(object[field], old[field]))) return;
  if (mayAnyway(context, resource, object, isBinding)) return;
  const namespace = object.metadata.namespace;
  const wanted = isBinding ? rulesBehind(context, object) : rulesIn(object);
  const missing = uncovered(wanted, rulesOf(context.storage, context.user, namespace));
  if (missing.length === 0) return;
  const { name, groups } = context.user;
  throw forbidden(
    resource,
    object.metadata.name,
    `user ${JSON.stringify(name)} (groups=[${groups.map((g) => JSON.stringify(g)).join(' ')}]) is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}`,
  );
}

function mayAnyway(context: Context, resource: Resource, object: ApiObject, isBinding: boolean): boolean {
  const ref = asObject(object['roleRef']);
  const { allowed } = authorize(context.storage, context.user, {
    verb: isBinding ? 'bind' : 'escalate',
    group,
    plural: isBinding ? (ref['kind'] === 'Role' ? 'roles' : 'clusterroles') : resource.plural,
    subresource: '',
    namespace: object.metadata.namespace,
    name: isBinding ? asText(ref['name']) : object.metadata.name,
  });
  return allowed;
}

function rulesBehind(context: Context, binding: ApiObject): PolicyRule[] {
  const ref = asObject(binding['roleRef']);
  const name = asText(ref['name']);
  const role =
    ref['kind'] === 'Role'
      ? context.storage.read(rbacStorage('roles'), binding.metadata.namespace, name)
      : context.storage.read(rbacStorage('clusterroles'), undefined, name);
  if (!role) {
    const kind = asText(ref['kind']);
    throw notFound({ group, plural: kind === 'Role' ? 'roles' : 'clusterroles', kind }, name);
  }
  return rulesIn(role);
}
