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

describe('the objects of a token request', () => {
  it('are a role and a binding of the same name for each permission, in its namespace or cluster-wide', () => {
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

  it('contain no namespace whose creation is disabled', () => {
    const access = describeTokenAccess(
      { permissions: [{ namespace: 'apps', disableAutomaticNamespaceCreation: true, rules }] },
      identity,
    );
    expect(access.namespaces).toEqual([]);
  });

  it('bind existing roles only where requested', () => {
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

  it('are rejected with all mistakes at once, including duplicates', () => {
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
      /^spec\.token\.roleRefs\[0\]\.namespace: .* spec\.token\.roleRefs\[1\]\.namespace: .* spec\.token\.permissions\[1\]\.name: the name x is used by an earlier entry\.[^:]*$/,
    );
  });

  it('are rejected with the field of an invalid value', () => {
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

  it('all have the mark, also for names that are no valid label values', () => {
    const access = describeTokenAccess({ permissions: [{ rules }] }, identity);
    const account = access.serviceAccount ? [{ object: access.serviceAccount }] : [];
    for (const { object } of [...access.objects, ...account]) {
      expect(object.metadata.labels?.[labels.access]).toBe('abcdefgh');
      for (const value of Object.values(object.metadata.labels ?? {})) expect(value.length).toBeLessThanOrEqual(63);
    }
  });

  it('C58: all have the marks of the other providers beside our own', () => {
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

describe('responsibility for a request', () => {
  const cases: [string, ReturnType<typeof anAccessRequest>, boolean][] = [
    ['pending and labelled', anAccessRequest(), true],
    ['granted for this generation', anAccessRequest({}, { phase: 'Granted' }), true],
    [
      'granted for an earlier generation: the operator processes it',
      anAccessRequest({}, { phase: 'Granted', observedGeneration: 0 }),
      false,
    ],
    ['new, without a phase', anAccessRequest({}, { phase: '' }), false],
    ['denied', anAccessRequest({}, { phase: 'Denied' }), false],
  ];
  it.each(cases)('%s', (_, request, expected) => {
    expect(isResponsible(request, 'talos')).toBe(expected);
  });

  it('does not cover requests of another provider or without a profile', () => {
    expect(isResponsible(anAccessRequest(), 'other')).toBe(false);
    const request = anAccessRequest();
    delete request.metadata.labels!['clusters.openmcp.cloud/profile'];
    expect(isResponsible(request, 'talos')).toBe(false);
  });
});
