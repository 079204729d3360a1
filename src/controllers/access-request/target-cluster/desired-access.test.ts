import { describe, expect, it } from 'vitest';
import { anAccessRequest } from '../../../../test/support/fixtures/builders.ts';
import { labels } from '../../../api/names.ts';
import { isResponsible } from '../responsibility.ts';
import { type AccessIdentity, describeTokenAccess, InvalidAccessRequestError, kindKeyText } from './desired-access.ts';

const identity: AccessIdentity = {
  id: 'abcdefgh',
  provider: 'talos',
  accountNamespace: 'accessrequests',
  request: {
    namespace: 'team',
    name: 'a-name-that-would-never-fit-into-a-label-because-it-is-longer-than-63-characters',
    uid: 'request-uid',
  },
};
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];

describe('what a token request becomes', () => {
  it('is a role and a binding of the same name for each permission, in its namespace or for the whole cluster', () => {
    const access = describeTokenAccess(
      { permissions: [{ rules }, { name: 'mine', namespace: 'apps', rules }] },
      identity,
    );
    expect(access.objects.map(kindKeyText)).toEqual([
      'ClusterRole /openmcp:permission:abcdefgh:0',
      'ClusterRoleBinding /openmcp:permission:abcdefgh:0',
      'Role apps/mine',
      'RoleBinding apps/mine',
    ]);
    expect(access.namespaces).toEqual([{ name: 'apps', from: 'spec.token.permissions[1].namespace' }]);
    expect(access.objects[3]?.object).toMatchObject({
      roleRef: { kind: 'Role', name: 'mine' },
      subjects: [{ kind: 'ServiceAccount', name: 'abcdefgh', namespace: 'accessrequests' }],
    });
  });

  it('creates no namespace that it was told not to create', () => {
    const access = describeTokenAccess(
      { permissions: [{ namespace: 'apps', disableAutomaticNamespaceCreation: true, rules }] },
      identity,
    );
    expect(access.namespaces).toEqual([]);
  });

  it('binds existing roles where they are asked for and no further', () => {
    const access = describeTokenAccess(
      {
        roleRefs: [
          { kind: 'ClusterRole', name: 'view' },
          { kind: 'Role', name: 'own', namespace: 'apps' },
        ],
      },
      identity,
    );
    expect(access.objects.map(kindKeyText)).toEqual([
      'ClusterRoleBinding /openmcp:roleref:abcdefgh:0',
      'RoleBinding apps/openmcp:roleref:abcdefgh:1',
    ]);
  });

  it('is refused with all that is wrong at once, doubles among it', () => {
    const spec = {
      permissions: [
        { name: 'x', rules },
        { name: 'x', rules },
      ],
      roleRefs: [
        { kind: 'Role' as const, name: 'own' },
        { kind: 'ClusterRole' as const, name: 'edit', namespace: 'apps' },
      ],
    };
    expect(() => describeTokenAccess(spec, identity)).toThrow(
      /^spec\.token\.roleRefs\[0\]\.namespace: .* spec\.token\.roleRefs\[1\]\.namespace: .* spec\.token\.permissions\[1\]\.name: an entry before [^:]*$/,
    );
  });

  it('refuses with the field what cannot be meant', () => {
    expect(() => describeTokenAccess({ roleRefs: [{ kind: 'Role', name: 'own' }] }, identity)).toThrow(
      /roleRefs\[0\]\.namespace/,
    );
    const twice = {
      permissions: [
        { name: 'x', rules },
        { name: 'x', rules },
      ],
    };
    expect(() => describeTokenAccess(twice, identity)).toThrow(InvalidAccessRequestError);
  });

  it('marks everything, also for names that no label could hold', () => {
    const access = describeTokenAccess({ permissions: [{ rules }] }, identity);
    const account = access.serviceAccount ? [{ object: access.serviceAccount }] : [];
    for (const { object } of [...access.objects, ...account]) {
      expect(object.metadata.labels?.[labels.access]).toBe('abcdefgh');
      for (const value of Object.values(object.metadata.labels ?? {})) expect(value.length).toBeLessThanOrEqual(63);
    }
  });

  it('C58: marks everything as the other providers do as well, beside our own marks', () => {
    const { name } = identity.request;
    const marksFor = (request: string) => {
      const { objects } = describeTokenAccess(
        { permissions: [{ rules }] },
        { ...identity, request: { ...identity.request, name: request } },
      );
      const {
        'talos.clusters.openmcp.cloud/managed-by-name': by,
        'talos.clusters.openmcp.cloud/managed-by-namespace': of,
      } = objects[0]?.object.metadata.labels ?? {};
      return [by, of];
    };
    expect(marksFor('mine')).toEqual(['mine', 'team']);
    expect(marksFor(name)).toEqual([expect.stringMatching(/^a-name-that-.*[a-z]--[a-z2-7]{8}$/), 'team']);
  });
});

describe('whose request it is', () => {
  const cases: [string, ReturnType<typeof anAccessRequest>, boolean][] = [
    ['pending and labelled', anAccessRequest(), true],
    ['granted for this generation', anAccessRequest({}, { phase: 'Granted' }), true],
    [
      'granted for an earlier generation: the operator is on it',
      anAccessRequest({}, { phase: 'Granted', observedGeneration: 0 }),
      false,
    ],
    ['fresh, without a phase', anAccessRequest({}, { phase: '' }), false],
    ['denied', anAccessRequest({}, { phase: 'Denied' }), false],
  ];
  it.each(cases)('%s', (_, request, expected) => {
    expect(isResponsible(request, 'talos')).toBe(expected);
  });

  it('is not ours with another provider or without a profile', () => {
    expect(isResponsible(anAccessRequest(), 'other')).toBe(false);
    const request = anAccessRequest();
    delete request.metadata.labels!['clusters.openmcp.cloud/profile'];
    expect(isResponsible(request, 'talos')).toBe(false);
  });
});
