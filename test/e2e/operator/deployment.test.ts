import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { buildCrds } from '../../../src/api/crd.ts';
import { Machine } from '../../../src/api/machine.ts';
import { Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from '../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { ClusterSession } from '../../demo/cluster-session.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { KubePod } from '../support/kubelet/pod-types.ts';
import { infrastructureWrites } from '../support/observation/provider-calls.ts';
import {
  clusterProviderKey,
  imageReference,
  initArguments,
  lastProcessOf,
  metricsArguments,
  missingForDeployment,
  startDeployedProvider,
} from '../support/operator/deployed-provider.ts';
import {
  BatchJob,
  ClusterProvider,
  Deployment,
  EndpointSlice,
  KubeService,
  ReplicaSet,
} from '../support/operator/operator-kinds.ts';

const missing = await missingForDeployment(254);
if (missing) it('the operator deploys this provider', ({ skip }) => skip(missing));
else describe('a provider that the operator deploys', deployed);

function deployed(): void {
  const at = startDeployedProvider({ subnet: '127.42.167', firstPod: 2 });
  const app: NamespacedRef = { namespace: 'team-a', name: 'app' };
  const beside: NamespacedRef = { namespace: 'team-a', name: 'beside' };

  it('C1: is initialised by a Job, and run by a Deployment after the success of the Job', async () => {
    expect(await at().crds()).toEqual(buildCrds().map(() => undefined));
    await at().install();
    const { status } = await at().isDeployed();
    const truths = status?.conditions?.map(({ type, status, reason }) => [type, status, reason]);
    expect(truths).toEqual(
      expect.arrayContaining([
        ['Initialized', 'True', 'InitCompleted'],
        ['Ready', 'True', 'ProviderReady'],
      ]),
    );
    const [init, run] = at().kubelet.pods;
    expect(at().kubelet.pods).toHaveLength(2);
    expect(init?.pod.metadata.labels).toMatchObject({ 'app.kubernetes.io/component': 'init-job' });
    expect([init?.phase, init?.lives.map(({ exitCode }) => exitCode)]).toEqual(['Succeeded', [0]]);
    expect([run?.phase, run?.lives.map(({ exitCode }) => exitCode)]).toEqual(['Running', [undefined]]);
    expect(run?.name).toMatch(/^cp-talos-/);
  });

  it('C1, C2: its programs get the arguments and the environment that the contract promises, and nothing else', async () => {
    const [init] = at().inits();
    const run = await at().theRunning();
    expect(init?.pod.spec.containers.map(({ args }) => args)).toEqual([['init', ...initArguments]]);
    await at().isWell(run);
    const { pid } = lastProcessOf(run);
    const inProcess = async (file: string) => (await readFile(`/proc/${pid}/${file}`, 'utf8')).split('\0').slice(0, -1);
    expect(await inProcess('cmdline')).toEqual(['node', '/app/main.js', 'run', ...initArguments, ...metricsArguments]);
    const environment = Object.fromEntries((await inProcess('environ')).map((line) => line.split(/=(.*)/s)));
    const { hostname, port } = new URL(loadApiServerConnection({ path: at().testbed.world.kubeconfig }).server);
    expect(environment).toEqual({
      SITE: 'the cellar',
      POD_NAME: run.name,
      POD_NAMESPACE: 'openmcp-system',
      POD_IP: run.address,
      POD_SERVICE_ACCOUNT_NAME: 'cp-talos',
      // Set by the image and by every container.
      NODE_ENV: 'production',
      PATH: expect.any(String),
      HOSTNAME: run.name,
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
    });
    const owner = /^Uid:\s+(\d+)\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'));
    expect(owner?.slice(1)).toEqual(['65532', '65532']);
  });

  it('C1: each program calls with the ServiceAccount of its own Pod, and no call is rejected', async () => {
    const [init] = at().inits();
    const calls = at().testbed.audit();
    const callers = new Set(calls.map(({ pod, user }) => `${pod} as ${user}`));
    const account = 'system:serviceaccount:openmcp-system:cp-talos';
    expect([...callers].sort()).toEqual(
      [`${init?.name} as ${account}-init`, `${(await at().theRunning()).name} as ${account}`].sort(),
    );
    expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const made = calls.filter(({ pod }) => pod === init?.name).map(({ resource }) => resource);
    expect([...new Set(made)].sort()).toEqual([
      'customresourcedefinitions',
      'validatingadmissionpolicies',
      'validatingadmissionpolicybindings',
    ]);
  });

  it('C6: init leaves every kind of ours behind, for the platform cluster', async () => {
    for (const crd of await at().crds()) {
      expect(crd?.metadata.labels).toMatchObject({ 'openmcp.cloud/cluster': 'platform' });
      expect(crd?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
    }
  });

  it('C3: metrics are available at the Service and the annotations of the operator', async () => {
    const run = await at().theRunning();
    const { namespace, platform } = at().testbed;
    const labelSelector = 'kubernetes.io/service-name=cp-talos-metrics';
    const address = await eventually('the Service leads somewhere', async () => {
      const { items } = await platform.list(EndpointSlice, { namespace, labelSelector });
      const [slice] = items;
      const host = slice?.endpoints?.find(({ conditions }) => conditions?.ready)?.addresses[0];
      return host !== undefined && `${host}:${slice?.ports?.[0]?.port}`;
    });
    expect(address).toBe(`${run.address}:8080`);
    expect(run.pod.metadata.annotations).toMatchObject({
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': '8080',
    });
    const { code, text } = await at().ask(run, ':8080/metrics');
    expect(code).toBe(200);
    expect(text).toMatch(/^leader_election_master_status\{name="leader"\} 1$/m);
    expect(text).toMatch(/^controller_runtime_reconcile_total\{controller="cluster",result="success"\} \d+$/m);
  });

  it('C4: health and readiness answer on :8081', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { code, text } = await at().ask(await at().theRunning(), `:8081${path}`);
      expect([code, text.split('\n').at(-2)]).toEqual([200, 'ok']);
    }
  });

  it('C1, C2: creates Clusters of a ProviderConfig, without help', async () => {
    const { objects, platform } = at().testbed;
    await objects.credentials();
    await objects.config('home', { pool: [10, 49] });
    await eventually('its profile is there', () => objects.exists(ClusterProfile, { name: 'test.talos.home' }));
    for (const ref of [app, beside]) await objects.cluster(ref);
    for (const ref of [app, beside]) await at().isReady(ref);
    expect((await platform.get(Cluster, app)).status?.observedGeneration).toBe(1);
    const run = await at().theRunning();
    expect(
      at()
        .witness.changesOf(run)
        .filter(({ what }) => what.startsWith('truenas ')),
    ).not.toEqual([]);
    expect(at().witness.violations()).toEqual([]);
    const { text } = await at().ask(run, ':8080/metrics');
    const counted = (name: string, labels: string) =>
      expect(text).toMatch(new RegExp(`^cluster_provider_talos_${name}_total\\{${labels}\\} [1-9]\\d*$`, 'm'));
    counted('steps', 'platform="truenas",plan="provision",step="[a-z-]+",end="done"');
    counted('calls', 'system="truenas",call="vm.create",result="ok"');
    counted('calls', 'system="talos",call="[^"]+",result="ok"');
    // Lines that only DEBUG logs.
    expect(lastProcessOf(run).lines.filter((line) => line.includes('"level":"debug"'))).not.toEqual([]);
  });

  const made: readonly ResourceType[] = [
    BatchJob,
    Deployment,
    ReplicaSet,
    KubePod,
    KubeService,
    ServiceAccount,
    ClusterRoleBinding,
    Role,
    RoleBinding,
  ];
  /** openmcp-operator 1.3.0 neither removes these nor gives them an owner. */
  const keptByOperator = ['Service cp-talos-metrics', 'Role cp-talos-init', 'RoleBinding cp-talos-init'];
  const leftovers = async (): Promise<string[]> => {
    const labelSelector = 'app.kubernetes.io/instance=talos';
    const lists = await Promise.all(made.map((type) => at().testbed.platform.list(type, { labelSelector })));
    return lists.flatMap(({ items }, i) => items.map(({ metadata }) => `${made[i]?.kind} ${metadata.name}`));
  };

  it('C1: is removed with its ClusterProvider, in order and completely, and leaves the Clusters unchanged', async () => {
    const { platform, objects } = at().testbed;
    const run = await at().theRunning();
    const before = infrastructureWrites(at().testbed.calls).length;
    await objects.remove(ClusterProvider, clusterProviderKey);
    await eventually(
      'the ClusterProvider is gone',
      async () => !(await objects.exists(ClusterProvider, clusterProviderKey)),
    );
    await eventually('nothing of it is left', async () => {
      expect(await leftovers()).toEqual(keptByOperator);
      return true;
    });
    expect(at().running()).toEqual([]);
    expect(lastProcessOf(run).exitCode).toBe(0);
    expect(at().kubelet.pods.flatMap(({ lives }) => lives.filter(({ exitCode }) => exitCode === undefined))).toEqual(
      [],
    );
    const clusters = (await platform.list(Cluster)).items.map(({ metadata, status }) => [metadata.name, status?.phase]);
    expect(clusters).toEqual([
      ['app', 'Ready'],
      ['beside', 'Ready'],
    ]);
    expect(infrastructureWrites(at().testbed.calls).slice(before)).toEqual([]);
  });

  it('C1: resumes its work when it is deployed again, and creates nothing twice', async () => {
    const { platform, objects } = at().testbed;
    const before = infrastructureWrites(at().testbed.calls).length;
    const machines = (await platform.list(Machine)).items.map(({ metadata }) => metadata.uid);
    await at().install();
    await at().isDeployed();
    const run = await at().theRunning();
    await eventually('it leads', async () => (await at().witness.leader()) === run);
    await objects.remove(Cluster, app);
    await eventually('the first Cluster is gone', async () => !(await objects.exists(Cluster, app)));
    expect((await platform.list(Machine)).items.map(({ metadata }) => metadata.uid)).toEqual(machines.slice(1));
    const writes = infrastructureWrites(at().testbed.calls).slice(before);
    expect(writes.filter((name) => /create|Bootstrap|Apply/.test(name))).toEqual([]);
    expect(at().witness.violations()).toEqual([]);
  });

  describeUnlessMissing('or the chart', missingPeers('helm'), () => {
    it('C4: is ready by its probes, and has sufficient rights to create a Cluster', async () => {
      const { objects, platform, namespace } = at().testbed;
      const image = at().images.get(imageReference('0.1.0'));
      if (image) at().images.set('cluster-provider-talos:0.1.0', image);
      const set = ['--set=environment=test', '--set=providerName=second'];
      const chart = 'charts/cluster-provider-talos';
      const words = ['template', 'second', chart, '--skip-tests', `--namespace=${namespace}`, ...set];
      const text = execFileSync(findPeer('helm') ?? 'helm', words, { encoding: 'utf8' });
      const session = await ClusterSession.fromFile(at().testbed.world.kubeconfig);
      await session.apply(parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []));
      await session.close();
      const release = { namespace, name: 'second-cluster-provider-talos' };
      await eventually('its Deployment is available', async () => {
        const { status } = await platform.get<KubeObject & { status?: { availableReplicas?: number } }>(
          Deployment,
          release,
        );
        return status?.availableReplicas === 1;
      });
      const pod = at().kubelet.pods.at(-1);
      const { status } = await platform.get(KubePod, { namespace, name: pod?.name ?? '' });
      expect(status?.initContainerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0 });
      expect(status?.containerStatuses?.[0]).toMatchObject({ started: true, ready: true, restartCount: 0 });
      const far: NamespacedRef = { namespace: 'team-a', name: 'far' };
      await objects.config('far', { provider: 'second', pool: [50, 99] });
      await objects.cluster(far, { profile: objects.profileOf('far', 'second') });
      await at().isReady(far);
      const calls = at()
        .testbed.audit()
        .filter((call) => call.pod === pod?.name);
      expect(calls.filter(({ user }) => user.endsWith(':second-cluster-provider-talos'))).toEqual(calls);
      expect(calls.filter(({ code }) => code === 403)).toEqual([]);
      await objects.remove(Deployment, release);
      await eventually('its program has ended', () => pod?.phase === 'Succeeded');
    });
  });
}
