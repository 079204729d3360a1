import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { OidcAccess } from '../../../api/openmcp/types.ts';
import { renderOidcKubeconfig } from '../kubeconfig.ts';
import { describeOidcAccess } from './describe-oidc-access.ts';
import { InvalidAccessRequestError, kindKeyText } from './desired-access.ts';

const identity = {
  id: 'abcdefgh',
  provider: 'talos',
  accountNamespace: 'accessrequests',
  request: { namespace: 'team', name: 'mine', uid: 'request-uid' },
};
const oidc = (change: Partial<OidcAccess>): OidcAccess => ({
  name: 'corp',
  issuer: 'https://id.example.org',
  clientID: 'kube',
  roleBindings: [],
  ...change,
});
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];

describe('66: roles for the users of an issuer', () => {
  const subjects = [
    { kind: 'User', name: 'alice' },
    { kind: 'Group', name: 'staff' },
    { kind: 'User', name: '::root@example.org' },
    { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' },
  ];
  const namesFor = (change: Partial<OidcAccess>) => {
    const roleBindings = [{ subjects, roleRefs: [{ kind: 'ClusterRole' as const, name: 'view' }] }];
    const [binding] = describeOidcAccess(oidc({ roleBindings, ...change }), identity).objects;
    const bound = binding?.object as { subjects?: { name: string }[] } | undefined;
    return bound?.subjects?.map(({ name }) => name);
  };

  it.each<[string, Partial<OidcAccess>, string[]]>([
    ['the name with a colon by default', {}, ['corp:alice', 'corp:staff']],
    ['used unchanged if given', { usernamePrefix: 'u-', groupsPrefix: 'g' }, ['u-alice', 'gstaff']],
    ['absent if empty', { usernamePrefix: '', groupsPrefix: '' }, ['alice', 'staff']],
  ])('68: prefixes are %s; two colons mark a complete name, accounts have no prefix', (_, change, names) => {
    expect(namesFor(change)).toEqual([...names, 'root@example.org', 'bot']);
  });

  it('have the names of the other providers, and a role has no binding of its own', () => {
    const access = describeOidcAccess(
      oidc({
        roles: [{ rules }, { name: 'own', namespace: 'inside', rules }],
        roleBindings: [
          { subjects, roleRefs: [{ kind: 'ClusterRole', name: 'view' }] },
          {
            subjects: [],
            roleRefs: [
              { kind: 'Role', name: 'own', namespace: 'inside' },
              { kind: 'ClusterRole', name: 'edit' },
            ],
          },
        ],
      }),
      identity,
    );
    expect(access.objects.map(kindKeyText)).toEqual([
      'ClusterRole /openmcp:abcdefgh:0',
      'Role inside/own',
      'ClusterRoleBinding /openmcp:abcdefgh:0:0',
      'RoleBinding inside/openmcp:abcdefgh:1:0',
      'ClusterRoleBinding /openmcp:abcdefgh:1:1',
    ]);
    expect(access.namespaces).toEqual([{ name: 'inside', from: 'spec.oidc.roles[1].namespace' }]);
    expect(access.serviceAccount).toBeUndefined();
  });

  it.each<[string, Partial<OidcAccess>, RegExp]>([
    [
      'a Role without a namespace',
      { roleBindings: [{ subjects, roleRefs: [{ kind: 'Role', name: 'x' }] }] },
      /^spec\.oidc\.roleBindings\[0\]\.roleRefs\[0\]\.namespace: /,
    ],
    [
      'an unknown kind of subject',
      { roleBindings: [{ subjects: [{ kind: 'Robot', name: 'x' }], roleRefs: [] }] },
      /^spec\.oidc\.roleBindings\[0\]\.subjects\[0\]\.kind: /,
    ],
    [
      'no subjects',
      { roleBindings: [{ subjects: [{ kind: 'User', name: '::' }], roleRefs: [] }] },
      /^spec\.oidc\.roleBindings\[0\]\.subjects\[0\]\.name: /,
    ],
    [
      'a service account without a namespace',
      { roleBindings: [{ subjects: [{ kind: 'ServiceAccount', name: 'x' }], roleRefs: [] }] },
      /^spec\.oidc\.roleBindings\[0\]\.subjects\[0\]\.namespace: /,
    ],
    ['a rule without verbs', { roles: [{ rules: [{ verbs: [] }] }] }, /^spec\.oidc\.roles\[0\]\.rules\[0\]\.verbs: /],
  ])('%s is rejected with the field', (_, change, sentence) => {
    expect(() => describeOidcAccess(oidc(change), identity)).toThrow(InvalidAccessRequestError);
    expect(() => describeOidcAccess(oidc(change), identity)).toThrow(sentence);
  });
});

it('67: the kubeconfig calls kubelogin with the names of the contract, and the CA of the issuer if there is one', () => {
  const server = { url: 'https://192.168.10.20:6443', ca: 'CA' };
  const login = { name: 'corp', issuer: 'https://id.example.org', clientId: 'kube', extraScopes: ['email', 'groups'] };
  const read = (ca?: string) =>
    parse(renderOidcKubeconfig(server, { namespace: 'team', name: 'prod' }, { ...login, ca }).reveal());
  expect(read()).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'team--prod', cluster: { server: server.url, 'certificate-authority-data': 'Q0E=' } }],
    users: [
      {
        name: 'corp',
        user: {
          exec: {
            apiVersion: 'client.authentication.k8s.io/v1beta1',
            command: 'kubectl',
            args: [
              ...['oidc-login', 'get-token', '--grant-type=auto', '--oidc-issuer-url=https://id.example.org'],
              ...['--oidc-client-id=kube', '--oidc-extra-scope=email', '--oidc-extra-scope=groups'],
              '--oidc-pkce-method=auto',
            ],
            env: null,
            provideClusterInfo: false,
          },
        },
      },
    ],
    contexts: [{ name: 'team--prod--corp', context: { cluster: 'team--prod', user: 'corp' } }],
    'current-context': 'team--prod--corp',
  });
  expect(read('PEM').users[0].user.exec.args.at(-1)).toBe('--certificate-authority-data=UEVN');
});
