import { describe, expect, it } from 'vitest';
import type { Permission, RoleRef } from '../../api/openmcp.ts';
import { findMistakes } from './check.ts';

const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const urls = { nonResourceURLs: ['/healthz'], verbs: ['get'] };
const permission = (values: Partial<Permission>) => ({
  permissions: [{ rules: [rule] }, { rules: [rule], ...values }],
});
const roleRef = (values: Partial<RoleRef>) => ({
  roleRefs: [{ kind: 'ClusterRole' as const, name: 'view', ...values }],
});

describe('what is asked for can be meant', () => {
  it.each([
    ['nothing', {}],
    ['nothing in lists', { permissions: [], roleRefs: [] }],
    ['a permission without rules', permission({ rules: [] })],
    ['texts that stand for nothing', permission({ name: '', namespace: '' })],
    ['a name as RBAC knows them', permission({ name: 'system:Anything_goes here', namespace: 'a-1' })],
    ['URLs for the whole cluster', permission({ rules: [urls] })],
    ['everything', permission({ rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] })],
    ['a ClusterRole in a namespace', roleRef({ namespace: 'apps' })],
  ])('%s', (_, token) => {
    expect(findMistakes(token)).toEqual([]);
  });
});

describe('what cannot be meant is said with its field', () => {
  it.each([
    [permission({ name: '..' }), /^spec\.token\.permissions\[1\]\.name: \.\. cannot be the name of a role/],
    [permission({ name: 'a/b' }), /permissions\[1\]\.name: a\/b cannot/],
    [permission({ namespace: '..' }), /permissions\[1\]\.namespace: \.\. cannot be a namespace/],
    [permission({ namespace: 'Apps' }), /permissions\[1\]\.namespace: Apps cannot/],
    [permission({ namespace: 'x'.repeat(64) }), /up to 63/],
    [permission({ rules: [{ ...rule, verbs: [] }] }), /permissions\[1\]\.rules\[0\]\.verbs: it is empty/],
    [permission({ rules: [{ ...rule, apiGroups: [] }] }), /rules\[0\]\.apiGroups: it is empty/],
    [permission({ rules: [{ apiGroups: [''], verbs: ['get'] }] }), /rules\[0\]\.resources: it is empty/],
    [permission({ namespace: 'apps', rules: [urls] }), /rules\[0\]\.nonResourceURLs: URLs lie in no namespace/],
    [permission({ rules: [{ ...rule, ...urls }] }), /rules\[0\]: it is about resources and/],
    [roleRef({ kind: 'Role' }), /^spec\.token\.roleRefs\[0\]\.namespace: a Role lies in a namespace/],
    [roleRef({ name: '.' }), /^spec\.token\.roleRefs\[0\]\.name: \. cannot/],
    [roleRef({ namespace: 'a.b' }), /^spec\.token\.roleRefs\[0\]\.namespace: a\.b cannot/],
  ])('%j', (token, words) => {
    const mistakes = findMistakes(token);
    expect(mistakes).toEqual([expect.stringMatching(words)]);
    expect(mistakes[0]).toMatch(/\.$/);
  });
});
