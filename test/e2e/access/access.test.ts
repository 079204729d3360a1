import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { accessRequestId, labels, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ClusterRole, ClusterRoleBinding, Namespace, Role, Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import {
  accessResult,
  accessSecret,
  ConfigMap,
  grantedKubeconfig,
  openGrantedClient,
  withGrantedClient,
} from '../support/access/workload-cluster.ts';
import type { RecordedVersion } from '../support/observation/object-recorder.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** The provider's waits are so long here that a prompt reaction proves a watch event as its cause. */
const open = startTestbed({ subnet: '127.42.102', speed: 3 });
const cluster = { namespace: 'shop', name: 'main' };
const {
  admin,
  ask,
  granted,
  isGranted,
  isReady,
  makeClusterRole,
  makeNamespace,
  objectsOf,
  ref,
  refusal: rejection,
} = accessHelpers(open, cluster);
const early = ref('early');

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.request(early, {
    clusterRef: cluster,
    token: { permissions: [{ rules: coreReadRules('configmaps') }] },
  });
  await objects.cluster(cluster);
  await isReady();
  await makeClusterRole('look-at-nodes', 'nodes');
  await makeClusterRole('look-at-secrets', 'secrets');
});

describe('a request made before its cluster is ready', () => {
  it('C47, C48, C70: reports its reason to wait, and is granted as soon as the cluster is ready', async () => {
    const { recorder } = open();
    await isGranted('early');
    const first = (all: readonly RecordedVersion[], phase: string): number =>
      all.find(({ object }) => (object as Cluster).status?.phase === phase)?.at.getTime() ?? Number.NaN;
    const waited = first(recorder.of(AccessRequest, early), 'Granted') - first(recorder.of(Cluster, cluster), 'Ready');
    // Without a watch event the next reconcile comes after ten seconds.
    expect(waited).toBeLessThan(6000);
    const messages = recorder.of(AccessRequest, early).flatMap(({ object }) => object.status?.conditions ?? []);
    const waiting = messages.filter(({ type, status }) => type === 'ClusterReady' && status === 'False');
    expect(waiting.map(({ message }) => message)).toContain(
      'Cluster shop/main is not ready yet. Access is granted afterwards.',
    );
  });
});

describe('granted access', () => {
  it('C50, C51, C52, C54, C58, C62, C63: is a kubeconfig with exactly the requested permissions, in the requested namespaces', async () => {
    const { objects } = open();
    const { status, metadata } = await granted('reader', {
      permissions: [
        { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create'] }] },
        { name: 'named', namespace: 'inside', rules: coreReadRules('secrets') },
        {
          namespace: 'inside',
          rules: [{ apiGroups: [''], resources: ['pods'], resourceNames: ['one'], verbs: ['get'] }],
        },
      ],
    });
    expect(status?.conditions?.map((condition) => [condition.type, condition.status])).toEqual([
      ['AccessReady', 'True'],
      ['ClusterReady', 'True'],
      ['Ready', 'True'],
    ]);
    expect(status?.observedGeneration).toBe(metadata.generation);
    expect(status?.secretRef).toEqual({ name: 'reader.kubeconfig' });
    expect(await objectsOf('reader')).toEqual([
      'ServiceAccount accessrequests/<id>',
      'ClusterRole openmcp:permission:<id>:0',
      'ClusterRoleBinding openmcp:permission:<id>:0',
      'Role inside/named',
      'Role inside/openmcp:permission:<id>:2',
      'RoleBinding inside/named',
      'RoleBinding inside/openmcp:permission:<id>:2',
    ]);
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'made' } };
    await withGrantedClient(open(), ref('reader'), async (holder) => {
      const answers = {
        makeConfigMap: await accessResult(holder.create(ConfigMap, map)),
        listConfigMapsEverywhere: await accessResult(holder.list(ConfigMap)),
        readSecretsInside: await accessResult(holder.list(Secret, { namespace: 'inside' })),
        deleteConfigMap: await accessResult(holder.remove(ConfigMap, { namespace: 'default', name: 'made' })),
        readSecretsElsewhere: await accessResult(holder.list(Secret, { namespace: 'kube-system' })),
        readSecretsEverywhere: await accessResult(holder.list(Secret)),
        makeSecretsInside: await accessResult(holder.remove(Secret, { namespace: 'inside', name: 'x' })),
        listNodes: await accessResult(holder.list(KubeNode)),
        readRoles: await accessResult(holder.list(Role, { namespace: 'inside' })),
      };
      expect(answers).toEqual({
        makeConfigMap: 'allowed',
        listConfigMapsEverywhere: 'allowed',
        readSecretsInside: 'allowed',
        deleteConfigMap: 403,
        readSecretsElsewhere: 403,
        readSecretsEverywhere: 403,
        makeSecretsInside: 403,
        listNodes: 403,
        readRoles: 403,
      });
    });
    const { data, metadata: about } = await accessSecret(open(), ref('reader'));
    expect(Object.keys(data ?? {}).sort()).toEqual(['creationTimestamp', 'expirationTimestamp', 'kubeconfig']);
    expect(about.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'AccessRequest', name: 'reader', uid: metadata.uid, controller: true }),
    ]);
    const { apiServer } = (await objects.getCluster(cluster)).status ?? {};
    expect(await grantedKubeconfig(open(), ref('reader'))).toContain(`server: ${apiServer}\n`);
  });

  it('C53: covers existing roles: cluster-wide, or in one namespace and in no other', async () => {
    await makeNamespace('local');
    await admin((kube) =>
      kube.create(Role, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { namespace: 'local', name: 'look-at-maps' },
        rules: coreReadRules('configmaps'),
      }),
    );
    await granted('roles', {
      roleRefs: [
        { kind: 'ClusterRole', name: 'look-at-nodes' },
        { kind: 'Role', name: 'look-at-maps', namespace: 'local' },
      ],
    });
    expect(await objectsOf('roles')).toEqual([
      'ServiceAccount accessrequests/<id>',
      'ClusterRoleBinding openmcp:roleref:<id>:0',
      'RoleBinding local/openmcp:roleref:<id>:1',
    ]);
    expect(await ask('roles', (holder) => holder.list(KubeNode))).toBe('allowed');
    expect(await ask('roles', (holder) => holder.list(ConfigMap, { namespace: 'local' }))).toBe('allowed');
    expect(await ask('roles', (holder) => holder.list(ConfigMap, { namespace: 'default' }))).toBe(403);
    expect(await ask('roles', (holder) => holder.list(Secret))).toBe(403);
  });

  it('C58: carries the ownership marks of the other providers as well, and restores them after their removal', async () => {
    const role = { name: `openmcp:permission:${accessRequestId('test', 'talos', ref('reader'))}:0` };
    const marks = { [labels.managedByName]: 'reader', [labels.managedByNamespace]: 'shop' };
    const marked = async () => (await admin((kube) => kube.get(ClusterRole, role))).metadata.labels;
    expect(await marked()).toMatchObject(marks);
    await admin((kube) => kube.merge(ClusterRole, role, { metadata: { labels: { [labels.managedByName]: null } } }));
    await open().objects.annotate(AccessRequest, ref('reader'), { [openmcpKeys.operation]: 'reconcile' });
    await eventually('they are back', async () => {
      expect(await marked()).toMatchObject(marks);
      return true;
    });
  });

  it('C61: lies in a Secret whose name keeps the length limit, however long the name of the request is', async () => {
    const name = `a-request-with-a-very-long-name-${'x'.repeat(40)}`;
    const { status } = await granted(name, { permissions: [{ rules: coreReadRules('configmaps') }] });
    expect(status?.secretRef?.name).toMatch(/^.{1,52}\.kubeconfig$/);
    expect(await ask(name, (holder) => holder.list(ConfigMap))).toBe('allowed');
  });
});

describe('a request that cannot be granted as written', () => {
  it('C55: does not adopt a foreign object of the same name, and reports it', async () => {
    const before = await makeClusterRole('taken', 'nodes');
    await open().objects.request(ref('greedy'), {
      clusterRef: cluster,
      token: { permissions: [{ name: 'taken', rules: coreReadRules('secrets') }] },
    });
    expect(await rejection('greedy', 'AccessReady', 'NotManaged')).toBe(
      'spec.token.permissions[0]: ClusterRole /taken exists in the cluster and is not managed by this AccessRequest. Remove it, or choose another name.',
    );
    expect(await admin((kube) => kube.get(ClusterRole, { name: 'taken' }))).toEqual(before);
    expect(await open().objects.exists(Secret, ref('greedy.kubeconfig'))).toBe(false);
    await admin((kube) => kube.remove(ClusterRole, { name: 'taken' }));
    await open().objects.annotate(AccessRequest, ref('greedy'), { [openmcpKeys.operation]: 'reconcile' });
    await isGranted('greedy');
  });

  it('reports all missing and all superfluous fields of roleRefs at once', async () => {
    await open().objects.request(ref('nowhere'), {
      clusterRef: cluster,
      token: {
        roleRefs: [
          { kind: 'Role', name: 'look-at-maps' },
          { kind: 'ClusterRole', name: 'look-at-nodes', namespace: 'local' },
        ],
      },
    });
    expect(await rejection('nowhere', 'AccessReady', 'InvalidConfig')).toBe(
      'spec.token.roleRefs[0].namespace: required for a Role. Set it. spec.token.roleRefs[1].namespace: not allowed for a ClusterRole. Omit it to bind look-at-nodes in the whole cluster, or use a Role of that namespace.',
    );
    expect(await objectsOf('nowhere')).toEqual([]);
  });

  it('reports everything that the cluster rejects at once, and gets no permissions of a foreign role', async () => {
    await makeClusterRole('foreign', 'secrets');
    const permissions = [
      { name: 'foreign', rules: coreReadRules('configmaps') },
      { namespace: 'absent', disableAutomaticNamespaceCreation: true, rules: coreReadRules('pods') },
      { name: 'fine', rules: coreReadRules('nodes') },
    ];
    await open().objects.request(ref('several'), { clusterRef: cluster, token: { permissions } });
    const messages = await rejection('several', 'AccessReady', 'NotManaged');
    expect(messages).toMatch(
      /^spec\.token\.permissions\[0\]: ClusterRole \/foreign exists .* spec\.token\.permissions\[1\]: .*absent/,
    );
    expect(messages).not.toContain('permissions[2]');
    expect(await objectsOf('several')).toEqual([
      'ServiceAccount accessrequests/<id>',
      'ClusterRole fine',
      'ClusterRoleBinding fine',
    ]);
    await open().objects.remove(AccessRequest, ref('several'));
  });

  it('C54: does not create a namespace that the request does not want created', async () => {
    await open().objects.request(ref('modest'), {
      clusterRef: cluster,
      token: {
        permissions: [{ namespace: 'not-yet', disableAutomaticNamespaceCreation: true, rules: coreReadRules('pods') }],
      },
    });
    expect(await rejection('modest', 'AccessReady', 'TargetRejected')).toMatch(/not-yet/);
    expect(await admin((kube) => kube.find(Namespace, { name: 'not-yet' }))).toBeUndefined();
  });

  it('gets nothing for an OIDC issuer that no API server accepts, and names the alternative', async () => {
    const wrong = { ...oidc, issuer: 'http://issuer.example.org' };
    await open().objects.request(ref('trusting'), { clusterRef: cluster, oidc: wrong });
    expect(await rejection('trusting', 'AccessReady', 'TrustRejected')).toMatch(/^spec\.oidc\.issuer: .*https:/);
    expect(await objectsOf('trusting')).toEqual([]);
    expect(await open().objects.exists(Secret, ref('trusting.kubeconfig'))).toBe(false);
  });
});

const oidc = { name: 'corp', issuer: 'https://issuer.example.org', clientID: 'x', roleBindings: [] };

describe('a changed request', () => {
  it('C57: loses removed permissions at once, also for holders of a token', async () => {
    await granted('changing', {
      permissions: [{ rules: coreReadRules('configmaps') }, { namespace: 'inside', rules: coreReadRules('secrets') }],
      roleRefs: [{ kind: 'ClusterRole', name: 'look-at-nodes' }],
    });
    const holder = await openGrantedClient(open(), ref('changing'));
    try {
      expect(await accessResult(holder.list(KubeNode))).toBe('allowed');
      expect(await accessResult(holder.list(Secret, { namespace: 'inside' }))).toBe('allowed');
      const token = { permissions: [{ rules: coreReadRules('configmaps') }], roleRefs: null };
      await open().platform.merge(AccessRequest, ref('changing'), { spec: { token } });
      await isGranted('changing');
      expect(await objectsOf('changing')).toEqual([
        'ServiceAccount accessrequests/<id>',
        'ClusterRole openmcp:permission:<id>:0',
        'ClusterRoleBinding openmcp:permission:<id>:0',
      ]);
      expect(await accessResult(holder.list(KubeNode))).toBe(403);
      expect(await accessResult(holder.list(Secret, { namespace: 'inside' }))).toBe(403);
      expect(await accessResult(holder.list(ConfigMap))).toBe('allowed');
    } finally {
      await holder.close();
    }
    expect(await admin((kube) => kube.find(Namespace, { name: 'inside' }))).toBeDefined();
  });

  it('is not lost when the change comes during the grant', async () => {
    const { objects, platform, world } = open();
    world.switchboard.fail('workload', /\/token$/, { kind: 'late', milliseconds: 1500 });
    const start = open().calls.length;
    await objects.request(ref('hasty'), {
      clusterRef: cluster,
      token: { permissions: [{ rules: coreReadRules('pods') }] },
    });
    await eventually('it is being granted', () =>
      open()
        .calls.slice(start)
        .some(({ simulator, name }) => simulator === 'workload' && name.endsWith('/token')),
    );
    const token = { permissions: [{ rules: coreReadRules('configmaps') }] };
    await platform.merge(AccessRequest, ref('hasty'), { spec: { token } });
    await isGranted('hasty');
    expect(await ask('hasty', (holder) => holder.list(ConfigMap))).toBe('allowed');
  });

  it('C56: gets a new binding for a new role, because the role of a binding is immutable', async () => {
    await granted('rebound', { roleRefs: [{ kind: 'ClusterRole', name: 'look-at-nodes' }] });
    const labelSelector = `${labels.access}=${accessRequestId('test', 'talos', ref('rebound'))}`;
    const bindings = () => admin((kube) => kube.list(ClusterRoleBinding, { labelSelector }));
    const before = (await bindings()).items;
    const token = { roleRefs: [{ kind: 'ClusterRole', name: 'look-at-secrets' }] };
    await open().platform.merge(AccessRequest, ref('rebound'), { spec: { token } });
    await eventually('the binding leads to the new role', async () => {
      const { items } = await bindings();
      expect(items).toHaveLength(1);
      expect(items[0]?.roleRef.name).toBe('look-at-secrets');
      expect(items[0]?.metadata.uid).not.toBe(before[0]?.metadata.uid);
      return true;
    });
    await isGranted('rebound');
    expect(await ask('rebound', (holder) => holder.list(KubeNode))).toBe(403);
    expect(await ask('rebound', (holder) => holder.list(Secret))).toBe('allowed');
  });

  it('C69: has everything withdrawn when it changes to OIDC', async () => {
    await granted('turning', { permissions: [{ rules: coreReadRules('configmaps') }] });
    const holder = await openGrantedClient(open(), ref('turning'));
    try {
      await open().platform.merge(AccessRequest, ref('turning'), { spec: { token: null, oidc } });
      await isGranted('turning');
      expect(await objectsOf('turning')).toEqual([]);
      expect(Object.keys((await accessSecret(open(), ref('turning'))).data ?? {})).toEqual(['kubeconfig']);
      expect(await accessResult(holder.list(ConfigMap))).toBe(401);
    } finally {
      await holder.close();
    }
  });
});

describe('the end', () => {
  it('C45: of a request withdraws all its objects and no foreign ones', async () => {
    const others = await objectsOf('roles');
    const holder = await openGrantedClient(open(), ref('reader'));
    try {
      await open().objects.remove(AccessRequest, ref('reader'));
      await eventually('the request is gone', async () => !(await open().objects.exists(AccessRequest, ref('reader'))));
      expect(await objectsOf('reader')).toEqual([]);
      expect(await accessResult(holder.list(ConfigMap))).toBe(401);
    } finally {
      await holder.close();
    }
    expect(await open().objects.exists(Secret, ref('reader.kubeconfig'))).toBe(false);
    expect(await objectsOf('roles')).toEqual(others);
    expect(await ask('roles', (guest) => guest.list(KubeNode))).toBe('allowed');
  });

  it('C41, C72: of a cluster releases its remaining requests, granted or not', async () => {
    const { objects, platform } = open();
    await objects.remove(Cluster, cluster);
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, cluster)));
    const { items } = await platform.list(AccessRequest);
    expect(items.length).toBeGreaterThan(8);
    await eventually('those that are left say so', async () => {
      const request = await objects.getRequest(early);
      expect(isConditionTrue(request.status?.conditions, 'Ready')).toBe(false);
      return request.status?.conditions?.some(({ reason }) => reason === 'ClusterMissing');
    });
    for (const { metadata } of items) await objects.remove(AccessRequest, ref(metadata.name));
    await eventually('all requests are gone', async () => (await platform.list(AccessRequest)).items.length === 0);
    const { items: secrets } = await platform.list(Secret, { namespace: 'shop' });
    expect(secrets.map(({ metadata }) => metadata.name)).toEqual([]);
  });
});

it('C49: Denied is never used: every rejected request can be granted after a change', () => {
  const phases = open()
    .recorder.of(AccessRequest)
    .map(({ object }) => object.status?.phase);
  expect(new Set(phases)).toEqual(new Set([undefined, 'Pending', 'Granted']));
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});

it('no token or key appears in any log line, event, status or condition', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
