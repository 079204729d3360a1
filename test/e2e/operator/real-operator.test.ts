import { expect, it } from 'vitest';
import { accessRequestId, instanceFinalizers, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { ClusterRequest } from '../../world/operator/cluster-request.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { type KubectlRunner, openKubectlRunner, parseCanIList } from '../support/access/kubectl.ts';
import { grantedKubeconfig, listAccessObjects } from '../support/access/workload-cluster.ts';
import { listLeftovers, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { missingForRealPlatformCluster } from '../support/testbed/real-platform-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingForRealPlatformCluster() ?? missingForRealWorkload();
if (missing) it('the real openmcp-operator works with this provider', ({ skip }) => skip(missing));
else withRealOperator();

function withRealOperator(): void {
  const purpose = (config: string) => ({
    template: { spec: { profile: `test.talos.${config}`, tenancy: 'Exclusive' } },
  });
  const operator = { scheduler: { purposeMappings: { small: purpose('home'), large: purpose('grand') } } };
  const open = startTestbed({ subnet: '127.42.108', platform: 'real', workload: 'real', seeds: { operator } });
  const inTeam = (name: string): NamespacedRef => ({ namespace: 'team-a', name });
  const app = inTeam('app');
  const grand = inTeam('grand');
  const orderedRequest = (i: number): NamespacedRef => inTeam(`order-${i}`);

  /** All verbs on ConfigMaps, and read access to Secrets in one namespace. */
  const token = {
    permissions: [
      { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'create', 'patch'] }] },
      { namespace: 'inside', rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }] },
    ],
  };

  async function askForCluster(ref: NamespacedRef, asked: string): Promise<void> {
    await open().objects.ensureNamespace(ref.namespace);
    await open().platform.create(ClusterRequest, {
      apiVersion: 'clusters.openmcp.cloud/v1alpha1',
      kind: 'ClusterRequest',
      metadata: { ...ref },
      spec: { purpose: asked },
    });
  }

  /** Creates an AccessRequest beside the ClusterRequest of the same name. */
  async function askForAccess(ref: NamespacedRef, what: AccessRequest['spec']['token'] = token): Promise<void> {
    await open().objects.request(ref, { requestRef: ref, ...(what && { token: what }) });
  }

  /** The Cluster that the operator has created for a request. */
  const clusterOf = (ref: NamespacedRef): Promise<NamespacedRef> =>
    eventually(`the operator schedules ${ref.name}`, async () => {
      const { status } = await open().platform.get(ClusterRequest, ref);
      return status?.phase === 'Granted' && status.cluster;
    });

  const isGranted = (ref: NamespacedRef): Promise<AccessRequest> =>
    eventually(
      `access for ${ref.name} is granted`,
      async () => {
        const request = await open().objects.getRequest(ref);
        const { phase, observedGeneration } = request.status ?? {};
        return phase === 'Granted' && observedGeneration === request.metadata.generation && request;
      },
      110,
    );

  async function withKubectl<T>(ref: NamespacedRef, work: (kubectl: KubectlRunner) => Promise<T>): Promise<T> {
    const kubectl = await openKubectlRunner(await grantedKubeconfig(open(), ref));
    try {
      return await work(kubectl);
    } finally {
      await kubectl.close();
    }
  }

  prepareTestbed(open, async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { pool: [10, 59] });
    await objects.config('grand', { controlPlanes: 3, pool: [60, 99] });
    for (const name of ['home', 'grand'])
      await eventually(`profile ${name} is there`, () =>
        objects.exists(ClusterProfile, { name: `test.talos.${name}` }),
      );
    await askForCluster(app, 'small');
    await askForAccess(app);
    await askForCluster(grand, 'large');
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }];
    await askForAccess(grand, { permissions: [{ rules }] });
    for (const ref of [app, grand]) {
      await isGranted(ref);
      const cluster = await clusterOf(ref);
      const isReady = async () => (await objects.getCluster(cluster)).status?.phase === 'Ready';
      await eventually(`cluster ${cluster.name} is ready`, isReady, 110);
    }
  });

  it('a ClusterRequest becomes a Cluster of our profile, and becomes ready', async () => {
    const { objects } = open();
    const cluster = await objects.getCluster(await clusterOf(app));
    expect(cluster.metadata.name).toMatch(/^small-/);
    expect(cluster.spec).toMatchObject({ profile: 'test.talos.home', tenancy: 'Exclusive', purposes: ['small'] });
    const { uid } = (await open().platform.get(ClusterRequest, app)).metadata;
    expect(cluster.metadata.finalizers?.sort()).toEqual(
      [instanceFinalizers(open().provider.instance).cluster, `request.clusters.openmcp.cloud/${uid}`].sort(),
    );
    expect(cluster.metadata.labels).toMatchObject({ [openmcpKeys.provider]: 'talos' });
    expect(cluster.status?.phase).toBe('Ready');
    expect((await objects.machines(await clusterOf(app))).map(({ status }) => status?.phase)).toEqual(['Ready']);
  });

  it('the operator assigns an AccessRequest for a ClusterRequest to us, and it is granted', async () => {
    const request = await isGranted(app);
    expect(request.metadata.labels).toMatchObject({
      [openmcpKeys.provider]: 'talos',
      [openmcpKeys.profile]: 'test.talos.home',
    });
    expect(request.spec.clusterRef).toEqual(await clusterOf(app));
    expect(request.status?.secretRef).toEqual({ name: 'app.kubeconfig' });
    const phases = open().recorder.values(AccessRequest, app, ({ status }) => status?.phase);
    expect(phases).toEqual(['Granted', 'Pending', undefined].reverse());
  });

  it('a changed AccessRequest, which the operator resets to Pending, is granted again each time', async () => {
    const again = inTeam('again');
    await open().objects.request(again, { requestRef: app, token });
    await isGranted(again);
    for (const name of ['one', 'two', 'three', 'four']) {
      const permissions = [...token.permissions, { namespace: name, rules: token.permissions[0]?.rules ?? [] }];
      await open().platform.merge(AccessRequest, again, { spec: { token: { permissions } } });
      await isGranted(again);
      expect(await listAccessObjects(open(), await clusterOf(app), again)).toContain(
        `Role ${name}/openmcp:permission:<id>:2`,
      );
    }
    await open().objects.remove(AccessRequest, again);
    await eventually('it is gone', async () => !(await open().objects.exists(AccessRequest, again)));
    expect(await listAccessObjects(open(), await clusterOf(app), again)).toEqual([]);
  });

  describeUnlessMissing('kubectl with the Secret of an AccessRequest', missingPeers('kubectl'), () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' }, data: { a: 'b' } };

    it('has the identity of its request', async () => {
      const user = await withKubectl(app, (kubectl) => kubectl.says(['auth', 'whoami', '-o', 'json']));
      const id = accessRequestId('test', 'talos', app);
      expect(JSON.parse(user).status.userInfo.username).toBe(`system:serviceaccount:accessrequests:${id}`);
    });

    it('has the requested rights, and no others', async () => {
      await withKubectl(app, async (kubectl) => {
        expect(await kubectl.says(['apply', '--server-side', '-f', '-'], map)).toMatch(/serverside-applied/);
        expect(await kubectl.says(['get', 'configmaps', 'made', '-o', 'jsonpath={.data.a}'])).toBe('b');
        expect((await kubectl.run(['get', 'secrets', '-n', 'inside'])).error).toMatch(/No resources found/);
        const refused = [
          ['delete', 'configmap', 'made'],
          ['get', 'secrets'],
          ['get', 'secrets', '-A'],
          ['create', 'secret', 'generic', 'x', '-n', 'inside'],
          ['get', 'nodes'],
          ['get', 'rolebindings', '-n', 'inside'],
          ['create', 'token', accessRequestId('test', 'talos', app), '-n', 'accessrequests'],
          ['get', 'configmaps', '--as', 'system:admin'],
        ];
        for (const args of refused) {
          const { code, error } = await kubectl.run(args);
          expect([args.join(' '), code, error]).toEqual([
            args.join(' '),
            1,
            expect.stringMatching(/ is forbidden: .* cannot /),
          ]);
        }
      });
    });

    it.each([
      { namespace: 'default', more: [] },
      { namespace: 'inside', more: ['secrets: get list'] },
    ])('has exactly the requested rights in namespace $namespace', async ({ namespace, more }) => {
      const table = await withKubectl(app, (kubectl) => kubectl.says(['auth', 'can-i', '--list', '-n', namespace]));
      const rights = parseCanIList(table).filter(({ resources }) => resources !== '');
      const messages = rights.map(({ resources, verbs }) => `${resources}: ${verbs.replace(/[[\]]/g, '')}`);
      const everybody = ['selfsubjectaccessreviews.authorization', 'selfsubjectrulesreviews.authorization']
        .concat('selfsubjectreviews.authentication')
        .map((resource) => `${resource}.k8s.io: create`);
      expect(messages.sort()).toEqual([...everybody, 'configmaps: get list create patch', ...more].sort());
    });

    it('sees the three nodes of a cluster of three control planes, at the address that they share', async () => {
      const machines = await open().objects.machines(await clusterOf(grand));
      const wanted = machines.map(({ metadata }) => [metadata.name, 'Ready', 'control-plane']);
      await withKubectl(grand, async (kubectl) => {
        await eventually('kubectl shows three ready nodes', async () => {
          const lines = (await kubectl.says(['get', 'nodes', '--no-headers'])).trim().split('\n');
          expect(lines.map((line) => line.split(/\s+/).slice(0, 3))).toEqual(wanted.sort());
          return true;
        });
      });
      expect(wanted).toHaveLength(3);
    });

    it('is rejected once the access is withdrawn, although it still holds its token', async () => {
      const brief = inTeam('brief');
      await open().objects.request(brief, { requestRef: app, token });
      await isGranted(brief);
      await withKubectl(brief, async (kubectl) => {
        await kubectl.says(['get', 'configmaps']);
        await open().objects.remove(AccessRequest, brief);
        await eventually('the request is gone', async () => !(await open().objects.exists(AccessRequest, brief)));
        expect(await listAccessObjects(open(), await clusterOf(app), brief)).toEqual([]);
        // It has no binding any more; the API server may cache its authentication for ten more seconds.
        expect((await kubectl.run(['get', 'configmaps'])).code).toBe(1);
        const rejection = async () => (await kubectl.run(['get', 'configmaps', '--request-timeout=5s'])).error;
        await eventually('the token is refused', async () => /logged in|Unauthorized/.test(await rejection()), 20);
        await consistently(2, async () => expect(await rejection()).toMatch(/logged in|Unauthorized/));
      });
    });
  });

  it('a Cluster that is deleted before its ClusterRequest is reconciled until the ClusterRequest is gone, and reports it', async () => {
    const { objects } = open();
    const cluster = await clusterOf(grand);
    const { uid } = (await open().platform.get(ClusterRequest, grand)).metadata;
    await objects.remove(Cluster, cluster);
    await eventually('it says who needs it', async () => {
      const { status } = await objects.getCluster(cluster);
      expect(status?.phase).toBe('Terminating');
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'ForeignFinalizersGone',
          message: `Still needed by request.clusters.openmcp.cloud/${uid}.`,
        }),
      );
      return true;
    });
    expect(await objects.machines(cluster)).toHaveLength(3);
    await objects.remove(ClusterRequest, grand);
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, cluster)));
    await objects.remove(AccessRequest, grand);
    await eventually('the access is gone', async () => !(await objects.exists(AccessRequest, grand)));
    expect(listNasLeftovers(open()).filter((fingerprint) => fingerprint.startsWith('VM '))).toHaveLength(1);
  });

  const kinds = { ClusterRequest, AccessRequest, Cluster } as const;
  type Kind = keyof typeof kinds;
  const orders: readonly (readonly Kind[])[] = [
    ['ClusterRequest', 'AccessRequest', 'Cluster'],
    ['ClusterRequest', 'Cluster', 'AccessRequest'],
    ['AccessRequest', 'ClusterRequest', 'Cluster'],
    ['AccessRequest', 'Cluster', 'ClusterRequest'],
    ['Cluster', 'ClusterRequest', 'AccessRequest'],
    ['Cluster', 'AccessRequest', 'ClusterRequest'],
  ];

  it('there are as many clusters with access as orders of deletion', async () => {
    for (const [i] of orders.entries()) {
      await askForCluster(orderedRequest(i), 'small');
      await askForAccess(orderedRequest(i));
    }
    for (const [i] of orders.entries()) await isGranted(orderedRequest(i));
  });

  it.each(orders.map((order, i) => ({ order, messages: order.join(', '), ref: orderedRequest(i) })))(
    'deletion in the order $messages leaves nothing behind',
    async ({ order, ref }) => {
      const { objects } = open();
      const cluster = await clusterOf(ref);
      const machines = await objects.machines(cluster);
      for (const kind of order) await objects.remove(kinds[kind], kind === 'Cluster' ? cluster : ref);
      await eventually('all three are gone', async () => {
        const left = await Promise.all(
          order.map((kind) => objects.exists(kinds[kind], kind === 'Cluster' ? cluster : ref)),
        );
        return left.every((is) => !is);
      });
      expect(await objects.machines(cluster)).toEqual([]);
      const isOfIt = (fingerprint: string) =>
        machines.some(({ metadata }) => fingerprint.includes(metadata.name.replaceAll('-', '_')));
      expect(machines).toHaveLength(1);
      expect(listNasLeftovers(open()).filter(isOfIt)).toEqual([]);
    },
  );

  it('nothing is left anywhere but the cached boot image', async () => {
    const { objects } = open();
    await objects.remove(ClusterRequest, app);
    await objects.remove(AccessRequest, app);
    for (const name of ['home', 'grand']) await objects.remove(ProviderConfig, { name });
    await eventually('nothing is left', async () => {
      expect(await listLeftovers(open())).toEqual([]);
      return true;
    });
  });

  it('the provider logs no fault of its own', () => {
    expect(open().faults()).toEqual([]);
  });

  it('no secret appears in any log line, event, status or condition', () => {
    expect(findSecretLeaks(open())).toEqual([]);
  });
}
