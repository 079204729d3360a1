import { describe, expect, it } from 'vitest';
import { annotations, labels } from '../../../api/names.ts';
import { ClusterRole, ClusterRoleBinding, ServiceAccount } from '../../../kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';
import { type AccessIdentity, describeTokenAccess, kindKeyText } from './desired-access.ts';
import { planAccessChanges } from './plan-access-changes.ts';

const identity: AccessIdentity = {
  id: 'abcdefgh',
  provider: 'talos',
  accountNamespace: 'accounts',
  request: { namespace: 'team', name: 'mine', uid: 'request-uid' },
};
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
const access = describeTokenAccess({ permissions: [{ name: 'reader', rules }] }, identity);

interface Present {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/** The objects of the request as they were created. `change` alters those of one kind. */
function present(kind = '', change: (object: Record<string, unknown>) => object = (object) => object): Present[] {
  const account = access.serviceAccount ? [{ type: ServiceAccount, object: access.serviceAccount }] : [];
  const all = [...account, ...access.objects].map(({ type, object }) => ({ type: type as ResourceType, object }));
  return all.map(({ type, object }) => {
    const copy = structuredClone(object) as unknown as Record<string, unknown>;
    return { type, object: (type.kind === kind ? change(copy) : copy) as unknown as KubeObject };
  });
}

const withMetadata = (change: object) => (object: Record<string, unknown>) => ({
  ...object,
  metadata: { ...(object['metadata'] as object), ...change },
});
const marked = (name: string, uid: string) =>
  withMetadata({
    annotations: {
      [annotations.requestNamespace]: 'team',
      [annotations.requestName]: name,
      [annotations.requestUid]: uid,
    },
  });

const planned = (snapshot: Present[]): Record<string, string> => {
  const { account, objects } = planAccessChanges(access, snapshot);
  return Object.fromEntries(
    [...(account ? [account] : []), ...objects].map(({ type, change }) => [type.kind, change.kind]),
  );
};
const kept = { ServiceAccount: 'keep', ClusterRole: 'keep', ClusterRoleBinding: 'keep' };

describe('the plan for requested objects', () => {
  it.each<[string, Present[], Record<string, string>]>([
    [
      'creates all in an empty cluster',
      [],
      { ServiceAccount: 'create', ClusterRole: 'create', ClusterRoleBinding: 'create' },
    ],
    ['keeps all that are as requested', present(), kept],
    [
      'restores changed rules',
      present('ClusterRole', (role) => ({ ...role, rules: [] })),
      { ...kept, ClusterRole: 'patch' },
    ],
    [
      'takes an absent list of a rule for an empty one',
      present('ClusterRole', (role) => ({ ...role, rules: [{ ...rules[0], resourceNames: [] }] })),
      kept,
    ],
    [
      'restores changed subjects',
      present('ClusterRoleBinding', (binding) => ({ ...binding, subjects: [] })),
      { ...kept, ClusterRoleBinding: 'patch' },
    ],
    [
      'replaces a binding to another role, because its role is immutable',
      present('ClusterRoleBinding', (binding) => ({ ...binding, roleRef: { kind: 'ClusterRole', name: 'admin' } })),
      { ...kept, ClusterRoleBinding: 'replace' },
    ],
    [
      'restores the annotations of an account',
      present('ServiceAccount', withMetadata({ annotations: {} })),
      { ...kept, ServiceAccount: 'patch' },
    ],
    [
      'keeps labels of others',
      present('ServiceAccount', withMetadata({ labels: { ...access.serviceAccount?.metadata.labels, other: 'x' } })),
      kept,
    ],
    [
      'creates an object anew whose former request is deleted',
      present('ClusterRole', marked('mine', 'former-uid')),
      { ...kept, ClusterRole: 'create' },
    ],
  ])('%s', (_, snapshot, expected) => {
    expect(planned(snapshot)).toEqual(expected);
  });

  it('patches only the marks of an object whose content is as requested', () => {
    const { objects } = planAccessChanges(access, present('ClusterRole', withMetadata({ labels: {} })));
    expect(objects[0]?.change).toMatchObject({
      kind: 'patch',
      patch: { metadata: { labels: { [labels.access]: 'abcdefgh' } } },
    });
    expect(objects[0]?.change).not.toHaveProperty('patch.rules');
  });
});

describe('the plan for other objects', () => {
  const named = (type: ResourceType, name: string): Present => ({
    type,
    object: { apiVersion: 'v1', kind: type.kind, metadata: { name, labels: { [labels.access]: 'abcdefgh' } } },
  });

  it('deletes what is not requested any more, bindings before roles and accounts', () => {
    const old = [named(ServiceAccount, 'old'), named(ClusterRole, 'old'), named(ClusterRoleBinding, 'old')];
    const { unrequested } = planAccessChanges(access, [...old, ...present()]);
    expect(unrequested.map(kindKeyText)).toEqual([
      'ClusterRoleBinding /old',
      'ClusterRole /old',
      'ServiceAccount /old',
    ]);
  });

  it('deletes the objects of a deleted request of the same name, and counts none as unrequested', () => {
    const { former, unrequested } = planAccessChanges(access, present('ClusterRole', marked('mine', 'former-uid')));
    expect(former.map(kindKeyText)).toEqual(['ClusterRole /reader']);
    expect(unrequested).toEqual([]);
  });

  it('names the request whose name has the same hash, and leaves its objects', () => {
    const foreign = present('ClusterRole', marked('another', 'another-uid'));
    const { nameTaken, former, unrequested } = planAccessChanges(access, foreign);
    expect(nameTaken).toMatch(/^ClusterRole \/reader exists in the cluster for AccessRequest team\/another,/);
    expect([...former, ...unrequested]).toEqual([]);
    expect(planAccessChanges(access, present()).nameTaken).toBeUndefined();
  });
});
