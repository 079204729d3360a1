import fc from 'fast-check';
import type {
  AccessRequest,
  NamespacedRef,
  Permission,
  PermissionRule,
  RoleRef,
} from '../../../src/api/openmcp/types.ts';
import type { InvalidValue } from './schema-violations.ts';
import { dnsLabel } from './strings.ts';

type Spec = AccessRequest['spec'];
type Token = NonNullable<Spec['token']>;

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const nonEmptySubset = (...words: string[]) => fc.subarray(words, { minLength: 1 });

const anyResourceRule: fc.Arbitrary<PermissionRule> = fc.record(
  {
    apiGroups: nonEmptySubset('', 'apps', 'example.org', '*'),
    resources: nonEmptySubset('configmaps', 'pods', 'pods/log', 'widgets', '*'),
    verbs: nonEmptySubset('get', 'list', 'watch', 'create', '*'),
    resourceNames: nonEmptySubset('one', 'another'),
  },
  { requiredKeys: ['apiGroups', 'resources', 'verbs'] },
);
const anyUrlRule: fc.Arbitrary<PermissionRule> = fc.record({
  nonResourceURLs: nonEmptySubset('/healthz', '/metrics', '/api/*'),
  verbs: nonEmptySubset('get', 'post'),
});

/** Names of roles are hardly restricted. */
const roleName = fc.oneof(dnsLabel(12), fc.constantFrom('team:Reader', 'With Space', 'ünï', 'x'.repeat(200)));

/** `n` becomes part of names, so that the names within one request are unique. */
const anyPermission = fc
  .record({
    name: optional(roleName),
    namespace: optional(fc.constantFrom('default', 'apps', 'made-for-it')),
    rules: fc.array(anyResourceRule, { maxLength: 3 }),
    urls: optional(anyUrlRule),
  })
  .map(
    ({ name, namespace, rules, urls }) =>
      (n: number): Permission => ({
        ...(name === undefined ? {} : { name: `${name}-${n}` }),
        ...(namespace === undefined ? {} : { namespace }),
        rules: urls && !namespace ? [...rules, urls] : rules,
      }),
  );

const anyRoleRef: fc.Arbitrary<RoleRef> = fc.oneof(
  fc.record({ kind: fc.constant('ClusterRole' as const), name: fc.constantFrom('view', 'nobody-made-it') }),
  fc.record({ kind: fc.constant('ClusterRole' as const), name: roleName }),
  fc.record({ kind: fc.constant('Role' as const), name: roleName, namespace: fc.constant('default') }),
);

/** As large as the request of a controller that lists every kind it knows. */
const hugeToken: fc.Arbitrary<Token> = fc.integer({ min: 20, max: 40 }).map((count) => ({
  permissions: Array.from({ length: count }, (_, n) => ({
    ...(n % 2 ? { namespace: 'made-for-it' } : {}),
    rules: Array.from({ length: 25 }, (_rule, i) => ({
      apiGroups: [`group-${i}.example.org`],
      resources: Array.from({ length: 10 }, (_kind, k) => `kind-${n}-${k}s`),
      verbs: ['get', 'list', 'watch'],
    })),
  })),
}));

const smallToken: fc.Arbitrary<Token> = fc
  .record({
    permissions: optional(fc.array(anyPermission, { maxLength: 4 })),
    roleRefs: optional(fc.array(anyRoleRef, { maxLength: 3 })),
  })
  .map(({ permissions, roleRefs }) => ({
    ...(permissions ? { permissions: permissions.map((permission, n) => permission(n)) } : {}),
    ...(roleRefs ? { roleRefs } : {}),
  }));
const anyToken = fc.oneof({ arbitrary: smallToken, weight: 40 }, { arbitrary: hugeToken, weight: 1 });

/** An AccessRequest that must be granted on that Cluster. */
export const anyAccessRequest = (clusterRef: NamespacedRef): fc.Arbitrary<Spec> =>
  fc.record({ token: anyToken, ttl: optional(fc.constantFrom('24h', '1h30m')) }).map(({ token, ttl }) => ({
    clusterRef,
    token,
    ...(ttl === undefined ? {} : { ttl }),
  }));

interface Mistake {
  readonly what: string;
  readonly field: string;
  spoil(token: Token, pick: number): void;
}

const pickOne = <T>(pick: number, ...all: T[]): T => all[pick % all.length] as T;
const rule: PermissionRule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };

/** Prepends an invalid permission. */
const permission = (what: string, field: string, wrong: (pick: number) => Partial<Permission>): Mistake => ({
  what,
  field: `spec.token.permissions[0]${field}: `,
  spoil: (token, pick) => {
    token.permissions = [{ rules: [rule], ...wrong(pick) }, ...(token.permissions ?? [])];
  },
});
const roleRef = (what: string, field: string, wrong: (pick: number) => Partial<RoleRef>): Mistake => ({
  what,
  field: `spec.token.roleRefs[0]${field}: `,
  spoil: (token, pick) => {
    token.roleRefs = [{ kind: 'ClusterRole', name: 'view', ...wrong(pick) }, ...(token.roleRefs ?? [])];
  },
});

const mistakes: readonly Mistake[] = [
  permission('a name that is part of a path', '.name', (pick) => ({
    name: pickOne(pick, '.', '..', 'a/b', '%2e', '../x'),
  })),
  permission('a namespace that is none', '.namespace', (pick) => ({
    namespace: pickOne(pick, '..', 'UPPER', 'a.b', '-a', 'a_b', '\u{1F680}', 'x'.repeat(64), ' ', 'a/b', '*'),
  })),
  permission('a namespace that is not to be made', '', (pick) => ({
    namespace: `not-there-${pick % 9}`,
    disableAutomaticNamespaceCreation: true,
  })),
  permission('a rule without verbs', '.rules[0].verbs', () => ({ rules: [{ ...rule, verbs: [] }] })),
  permission('a rule about nothing', '.rules[0].resources', (pick) => ({
    rules: [
      pickOne<PermissionRule>(
        pick,
        { apiGroups: [''], verbs: ['get'] },
        { apiGroups: [''], resources: [], verbs: ['*'] },
      ),
    ],
  })),
  permission('a rule without groups', '.rules[1].apiGroups', () => ({
    rules: [rule, { resources: ['pods'], verbs: ['get'] }],
  })),
  permission('URLs in a namespace', '.rules[0].nonResourceURLs', () => ({
    namespace: 'default',
    rules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
  })),
  permission('URLs and resources', '.rules[0]', () => ({ rules: [{ ...rule, nonResourceURLs: ['/x'] }] })),
  permission('a role that is not its own', '', (pick) => ({ name: pickOne(pick, 'cluster-admin', 'view', 'edit') })),
  roleRef('a Role that lies nowhere', '.namespace', () => ({ kind: 'Role', name: 'x' })),
  roleRef('a role that is part of a path', '.name', (pick) => ({ name: pickOne(pick, '..', 'a/b', '%') })),
  roleRef('a namespace that is not there', '', () => ({ kind: 'Role', namespace: 'nobody-made-it' })),
  roleRef('a ClusterRole in a namespace', '.namespace', () => ({ namespace: 'default' })),
  {
    what: 'the same name twice',
    field: 'spec.token.permissions[1].name: ',
    spoil: (token) => {
      token.permissions = [
        { name: 'twice', rules: [rule] },
        { name: 'twice', rules: [] },
      ];
    },
  },
];

/** An AccessRequest that the API server accepts and the provider must reject. */
export const invalidAccessRequest = (clusterRef: NamespacedRef): fc.Arbitrary<InvalidValue<Spec>> =>
  fc
    .tuple(anyAccessRequest(clusterRef), fc.nat(), fc.constantFrom(...mistakes))
    .map(([spec, pick, { what, field, spoil }]) => {
      const { token = {}, ...rest } = structuredClone(spec);
      spoil(token, pick);
      return { what, field, value: { ...rest, token } };
    });
