import { describe, expect, it } from 'vitest';
import type { Permission, RoleRef } from '../../../api/openmcp/types.ts';
import { validateOidcAccess, validateTokenAccess } from './validate-access.ts';

const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const urls = { nonResourceURLs: ['/healthz'], verbs: ['get'] };
const permission = (values: Partial<Permission>) => ({
  permissions: [{ rules: [rule] }, { rules: [rule], ...values }],
});
const roleRef = (values: Partial<RoleRef>) => ({
  roleRefs: [{ kind: 'ClusterRole' as const, name: 'view', ...values }],
});

describe('a valid request', () => {
  it.each([
    ['an empty spec', {}],
    ['empty lists', { permissions: [], roleRefs: [] }],
    ['a permission without rules', permission({ rules: [] })],
    ['empty texts', permission({ name: '', namespace: '' })],
    ['a name that only RBAC allows', permission({ name: 'system:Anything_goes here', namespace: 'a-1' })],
    ['URLs in a cluster role', permission({ rules: [urls] })],
    ['all rights', permission({ rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })],
  ])('%s', (_, token) => {
    expect(validateTokenAccess(token)).toEqual([]);
  });
});

describe('an invalid request is rejected with its field', () => {
  it.each([
    [permission({ name: '..' }), /^spec\.token\.permissions\[1\]\.name: \.\. is not a valid name of a role/],
    [permission({ name: 'a/b' }), /permissions\[1\]\.name: a\/b is not a valid name/],
    [permission({ namespace: '..' }), /permissions\[1\]\.namespace: \.\. is not a valid namespace/],
    [permission({ namespace: 'Apps' }), /permissions\[1\]\.namespace: Apps is not a valid namespace/],
    [permission({ namespace: 'x'.repeat(64) }), /up to 63/],
    [permission({ rules: [{ ...rule, verbs: [] }] }), /permissions\[1\]\.rules\[0\]\.verbs: it is empty/],
    [permission({ rules: [{ ...rule, apiGroups: [] }] }), /rules\[0\]\.apiGroups: it is empty/],
    [permission({ rules: [{ apiGroups: [''], verbs: ['get'] }] }), /rules\[0\]\.resources: it is empty/],
    [permission({ namespace: 'apps', rules: [urls] }), /rules\[0\]\.nonResourceURLs: not allowed with a namespace/],
    [permission({ rules: [{ ...rule, ...urls }] }), /rules\[0\]: resources and nonResourceURLs exclude/],
    [roleRef({ kind: 'Role' }), /^spec\.token\.roleRefs\[0\]\.namespace: required for a Role\./],
    [roleRef({ name: '.' }), /^spec\.token\.roleRefs\[0\]\.name: \. is not a valid name/],
    [
      roleRef({ kind: 'Role', namespace: 'a.b' }),
      /^spec\.token\.roleRefs\[0\]\.namespace: a\.b is not a valid namespace/,
    ],
    [roleRef({ namespace: 'apps' }), /roleRefs\[0\]\.namespace: not allowed for a ClusterRole\. Omit it/],
  ])('%j', (token, text) => {
    const mistakes = validateTokenAccess(token);
    expect(mistakes).toEqual([expect.stringMatching(text)]);
    expect(mistakes[0]).toMatch(/\.$/);
  });
});

describe('a request above the limits', () => {
  const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
  const roleRef = { kind: 'ClusterRole' as const, name: 'view' };
  const subject = { kind: 'User', name: 'a' } as const;

  it.each([
    [{ permissions: many(257, { rules: [rule] }) }, 'spec.token.permissions: 257 entries, at most 256 are allowed.'],
    [{ roleRefs: many(257, roleRef) }, 'spec.token.roleRefs: 257 entries'],
    [{ permissions: [{ rules: many(300, rule) }] }, 'spec.token.permissions[0].rules: 300 entries'],
  ])('is rejected without further checks: %#', (token, sentence) => {
    const mistakes = validateTokenAccess(token);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(sentence);
  });

  it('counts each subject for each of its roles in OIDC requests', () => {
    const binding = (subjects: number, roleRefs: number) => ({
      subjects: many(subjects, subject),
      roleRefs: many(roleRefs, roleRef),
    });
    const asked = (...roleBindings: ReturnType<typeof binding>[]) => validateOidcAccess({ roleBindings } as never);
    expect(asked(binding(100, 100))).toEqual([]);
    expect(asked(binding(5000, 100))[0]).toMatch(/^spec\.oidc\.roleBindings: subjects: 500000 entries/);
    expect(asked(binding(1, 200), binding(1, 200))[0]).toMatch(/^spec\.oidc\.roleBindings: 400 entries/);
  });
});
