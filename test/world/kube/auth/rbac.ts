import { asArray, asObject, asText } from '../json.ts';
import type { ApiObject, ObjectStorage } from '../storage/store.ts';
import type { ApiUser } from './authentication.ts';

export interface RbacRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** One request to the authorizer. */
export type RbacAttributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly plural: string;
      readonly subresource: string;
      readonly namespace: string | undefined;
      readonly name: string | undefined;
    }
  | { readonly verb: string; readonly path: string };

const group = 'rbac.authorization.k8s.io';
export const rbacStorage = (plural: string): string => `${group}/${plural}`;

/** `allowed`, and if not: the errors in bindings, which are shown after `RBAC:`. */
export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

export function authorizeByRbac(storage: ObjectStorage, user: ApiUser, attributes: RbacAttributes): AccessDecision {
  if (user.groups.includes('system:masters')) return { allowed: true, reason: '' };
  const problems: string[] = [];
  for (const { rules, binding } of ruleSets(storage, user, namespaceOf(attributes), problems)) {
    if (rules.some((rule) => allows(rule, attributes))) return { allowed: true, reason: `RBAC: allowed by ${binding}` };
  }
  const words = problems.length > 1 ? `[${problems.join(', ')}]` : problems[0];
  return { allowed: false, reason: words ? `RBAC: ${words}` : '' };
}

const namespaceOf = (attributes: RbacAttributes): string | undefined =>
  'path' in attributes ? undefined : attributes.namespace;

/** All rules of a user: cluster-wide, and in one namespace when given. */
export function rulesOfUser(storage: ObjectStorage, user: ApiUser, namespace: string | undefined): RbacRule[] {
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const isMaster = user.groups.includes('system:masters');
  return [
    ...(isMaster ? [everything, { verbs: ['*'], nonResourceURLs: ['*'] }] : []),
    ...[...ruleSets(storage, user, namespace, [])].flatMap((set) => set.rules),
  ];
}

function* ruleSets(storage: ObjectStorage, user: ApiUser, namespace: string | undefined, problems: string[]) {
  for (const binding of storage.all(rbacStorage('clusterrolebindings'))) {
    if (!subjectsHold(binding, user)) continue;
    yield {
      rules: rulesBehind(storage, binding, undefined, problems),
      binding: `ClusterRoleBinding ${JSON.stringify(binding.metadata.name)}`,
    };
  }
  if (!namespace) return;
  for (const binding of storage.all(rbacStorage('rolebindings'), namespace)) {
    if (!subjectsHold(binding, user)) continue;
    const name = JSON.stringify(`${binding.metadata.name}/${namespace}`);
    yield { rules: rulesBehind(storage, binding, namespace, problems), binding: `RoleBinding ${name}` };
  }
}

function subjectsHold(binding: ApiObject, user: ApiUser): boolean {
  return asArray(binding['subjects']).some((given) => {
    const subject = asObject(given);
    switch (subject['kind']) {
      case 'User':
        return subject['name'] === user.name;
      case 'Group':
        return user.groups.includes(asText(subject['name']));
      case 'ServiceAccount': {
        const namespace = asText(subject['namespace']) || binding.metadata.namespace;
        return user.name === `system:serviceaccount:${namespace}:${asText(subject['name'])}`;
      }
      default:
        return false;
    }
  });
}

function rulesBehind(storage: ObjectStorage, binding: ApiObject, namespace: string | undefined, problems: string[]) {
  const ref = asObject(binding['roleRef']);
  const isRole = ref['kind'] === 'Role';
  const name = asText(ref['name']);
  const role = isRole
    ? storage.read(rbacStorage('roles'), namespace, name)
    : storage.read(rbacStorage('clusterroles'), undefined, name);
  if (!role) problems.push(`${isRole ? 'role' : 'clusterrole'}.${group} ${JSON.stringify(name)} not found`);
  return role ? rulesOfRole(role) : [];
}

export const rulesOfRole = (role: ApiObject): RbacRule[] => asArray(role['rules']) as RbacRule[];

const has = (list: readonly string[] | undefined, wanted: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(wanted));

function allows(rule: RbacRule, attributes: RbacAttributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if ('path' in attributes)
    return (rule.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, attributes.path));
  if (!has(rule.apiGroups, attributes.group) || !matchesResource(rule, attributes.plural, attributes.subresource))
    return false;
  const names = rule.resourceNames ?? [];
  return names.length === 0 || (attributes.name !== undefined && names.includes(attributes.name));
}

function matchesResource(rule: RbacRule, plural: string, subresource: string): boolean {
  const whole = subresource ? `${plural}/${subresource}` : plural;
  return (rule.resources ?? []).some(
    (r) => r === '*' || r === whole || (subresource !== '' && r === `*/${subresource}`),
  );
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));

/** The part of `wanted` that `held` does not grant, split into single permissions. */
export function uncoveredRules(wanted: readonly RbacRule[], held: readonly RbacRule[]): RbacRule[] {
  return wanted.flatMap(splitRule).filter((one) => !held.some((rule) => covers(rule, one)));
}

function splitRule(rule: RbacRule): RbacRule[] {
  const names = rule.resourceNames?.length ? rule.resourceNames.map((name) => [name]) : [undefined];
  const single: RbacRule[] = [];
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs ?? []) single.push({ verbs: [verb], nonResourceURLs: [url] });
    for (const apiGroup of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        for (const resourceNames of names) {
          const one = { verbs: [verb], apiGroups: [apiGroup], resources: [resource] };
          single.push(resourceNames ? { ...one, resourceNames } : one);
        }
      }
    }
  }
  return single;
}

function covers(owner: RbacRule, one: RbacRule): boolean {
  if (!one.verbs.every((verb) => has(owner.verbs, verb))) return false;
  if (one.nonResourceURLs) {
    return one.nonResourceURLs.every((url) =>
      (owner.nonResourceURLs ?? []).some((pattern) => matchesPath(pattern, url)),
    );
  }
  const names = owner.resourceNames ?? [];
  return (
    (one.apiGroups ?? []).every((apiGroup) => has(owner.apiGroups, apiGroup)) &&
    (one.resources ?? []).every((resource) => {
      const [plural = '', subresource = ''] = resource.split('/');
      return matchesResource(owner, plural, subresource);
    }) &&
    (names.length === 0 || one.resourceNames?.every((name) => names.includes(name)) === true)
  );
}

const list = (values: readonly string[]): string => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

/** Rules in the format of the escalation error: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
export function describeRules(rules: readonly RbacRule[]): string {
  const grouped = new Map<string, string[]>();
  for (const rule of rules) {
    const parts = [
      rule.apiGroups ? `APIGroups:${list(rule.apiGroups)}` : '',
      rule.resources ? `Resources:${list(rule.resources)}` : '',
      rule.resourceNames ? `ResourceNames:${list(rule.resourceNames)}` : '',
      rule.nonResourceURLs ? `NonResourceURLs:${list(rule.nonResourceURLs)}` : '',
    ];
    const head = parts.filter((part) => part !== '').join(', ');
    grouped.set(head, [...(grouped.get(head) ?? []), ...rule.verbs]);
  }
  return [...grouped]
    .map(([head, verbs]) => `{${head}, Verbs:${list(verbs)}}`)
    .sort()
    .join('\n');
}
