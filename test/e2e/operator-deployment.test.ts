import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { describeCrds } from '../../src/api/crd.ts';
import { Machine } from '../../src/api/machine.ts';
import { Cluster, ClusterProfile, type NamespacedRef } from '../../src/api/openmcp.ts';
import { connectionFrom } from '../../src/kube/connection.ts';
import {
  ClusterRoleBinding,
  CustomResourceDefinition,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from '../../src/kube/core-types.ts';
import { type KubeObject, keyOf, type ResourceType } from '../../src/kube/resource.ts';
import { Session } from '../demo/session.ts';
import { createAuthority } from '../peers/authority.ts';
import { findPeer, missingPeers } from '../peers/find.ts';
import { missingUpstreamCrds } from '../peers/operator.ts';
import { describeWith } from '../support/needs.ts';
import { eventually, throughout } from './support/eventually.ts';
import { prepare, startStage } from './support/hooks.ts';
import { type Image, makeImage } from './support/kubelet/image.ts';
import type { Container } from './support/kubelet/kinds.ts';
import { KubePod } from './support/kubelet/kinds.ts';
import { Kubelet } from './support/kubelet/kubelet.ts';
import type { PodWorker } from './support/kubelet/pod-worker.ts';
import { missingForSandbox } from './support/kubelet/sandbox.ts';
import {
  ClusterProvider,
  Deployment,
  EndpointSlice,
  isController,
  Job,
  ReplicaSet,
  Service,
  Witness,
} from './support/operated.ts';
import { missingForRealPlatform } from './support/real-platform.ts';
import { outsideWrites } from './support/traces.ts';

const missing = missingForRealPlatform() ?? missingUpstreamCrds() ?? (await missingForSandbox());
if (missing) it('the operator deploys this provider', ({ skip }) => skip(missing));
else describe('a provider that the operator deploys', deployed);

function deployed(): void {
  const open = startStage({
    subnet: '127.42.160',
    platform: 'real',
    isBare: true,
    seeds: { operator: { scheduler: { purposeMappings: {} } } },
  });
  const images = new Map<string, Image>();
  const imageOf = (version: string): string => `registry.example.org/cluster-provider-talos:${version}`;
  const key = { name: 'talos' };
  const crdKey = { name: describeCrds()[0]?.metadata.name ?? '' };
  const app: NamespacedRef = { namespace: 'team-a', name: 'app' };
  let folder: string;
  let kubelet: Kubelet;
  let witness: Witness;

  prepare(open, async (stage) => {
    folder = await mkdtemp(join(tmpdir(), 'images-'));
    for (const version of ['0.1.0', '0.2.0']) images.set(imageOf(version), makeImage(join(folder, version)));
    const { server } = connectionFrom({ path: stage.world.kubeconfig });
    kubelet = await Kubelet.start({ client: stage.platform, server, namespace: stage.namespace, images });
    witness = new Witness(stage, kubelet);
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(kubelet.tail());
    });
  });
  afterAll(async () => {
    await kubelet?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The Pods of the Deployment whose programs run. */
  const running = (): PodWorker[] =>
    kubelet.pods.filter(({ pod, lives }) => isController(pod) && lives.at(-1) && lives.at(-1)?.exitCode === undefined);
  /**
   * The operator may say that all is well before the Deployment has noticed that it was changed, and one that is replaced
   * may take a while to end after that.
   */
  const theRunning = (isMeant: (container: Container) => boolean = () => true): Promise<PodWorker> =>
    eventually('one program runs, as it was asked for', () => {
      const [pod, ...others] = running();
      const container = pod?.pod.spec.containers[0];
      return others.length === 0 && container !== undefined && isMeant(container) && pod;
    });
  const inits = (): PodWorker[] => kubelet.pods.filter(({ pod }) => !isController(pod));
  const lifeOf = (pod: PodWorker) => {
    const life = pod.lives.at(-1);
    if (!life) throw new Error(`${pod.name} has not begun`);
    return life;
  };

  /** Until the operator has carried out what the ClusterProvider says, and says so. */
  const isDeployed = (): Promise<ClusterProvider> =>
    eventually('the operator says that the provider is ready', async () => {
      const provider = await open().platform.get(ClusterProvider, key);
      const { phase, observedGeneration } = provider.status ?? {};
      return phase === 'Ready' && observedGeneration === provider.metadata.generation && provider;
    });
  const isReady = (ref: NamespacedRef): Promise<boolean> =>
    eventually(
      `cluster ${ref.name} is ready`,
      async () => (await open().things.getCluster(ref)).status?.phase === 'Ready',
      100,
    );
  const change = (spec: Partial<ClusterProvider['spec']>): Promise<ClusterProvider> =>
    open().platform.merge(ClusterProvider, key, { spec });
  const install = async (): Promise<void> => {
    const sample = parse(await readFile('config/samples/clusterprovider.yaml', 'utf8')) as ClusterProvider;
    const env = [{ name: 'SITE', value: 'the cellar' }];
    await open().platform.create(ClusterProvider, { ...sample, spec: { ...sample.spec, verbosity: 'DEBUG', env } });
  };
  const crds = async (): Promise<(CustomResourceDefinition | undefined)[]> =>
    await Promise.all(
      describeCrds().map(({ metadata }) => open().platform.find(CustomResourceDefinition, { name: metadata.name })),
    );

  /** With an agent that can judge its certificate: over TLS. */
  async function ask(pod: PodWorker, where: string, agent?: Agent): Promise<{ code: number; text: string }> {
    const url = `${agent ? 'https' : 'http'}://${pod.address}${where}`;
    const options = { signal: AbortSignal.timeout(5000), ...(agent ? { dispatcher: agent } : {}) };
    const { statusCode, body } = await request(url, options);
    return { code: statusCode, text: await body.text() };
  }
  const isWell = (pod: PodWorker): Promise<boolean> =>
    eventually(`${pod.name} is well`, async () => (await ask(pod, ':8081/readyz')).code === 200);

  const words = ['--environment=test', '--verbosity=DEBUG', '--provider-name=talos'];
  const metricsWords = ['--metrics-bind-address=:8080', '--metrics-secure=false'];

  it('C1: is initialised by a Job, and run by a Deployment once that has ended well', async () => {
    expect(await crds()).toEqual(describeCrds().map(() => undefined));
    await install();
    const { status } = await isDeployed();
    const truths = status?.conditions?.map(({ type, status, reason }) => [type, status, reason]);
    expect(truths).toEqual(
      expect.arrayContaining([
        ['Initialized', 'True', 'InitCompleted'],
        ['Ready', 'True', 'ProviderReady'],
      ]),
    );
    const [init, run] = kubelet.pods;
    expect(kubelet.pods).toHaveLength(2);
    expect(init?.pod.metadata.labels).toMatchObject({ 'app.kubernetes.io/component': 'init-job' });
    expect([init?.phase, init?.lives.map(({ exitCode }) => exitCode)]).toEqual(['Succeeded', [0]]);
    expect([run?.phase, run?.lives.map(({ exitCode }) => exitCode)]).toEqual(['Running', [undefined]]);
    expect(run?.name).toMatch(/^cp-talos-/);
  });

  it('C1, C2: its programs get the words and the environment that the contract promises, and nothing else', async () => {
    const [init] = inits();
    const run = await theRunning();
    expect(init?.pod.spec.containers.map(({ args }) => args)).toEqual([['init', ...words]]);
    await isWell(run);
    const { pid } = lifeOf(run);
    const inProcess = async (file: string) => (await readFile(`/proc/${pid}/${file}`, 'utf8')).split('\0').slice(0, -1);
    expect(await inProcess('cmdline')).toEqual(['node', '/app/main.js', 'run', ...words, ...metricsWords]);
    const environment = Object.fromEntries((await inProcess('environ')).map((line) => line.split(/=(.*)/s)));
    const { hostname, port } = new URL(connectionFrom({ path: open().world.kubeconfig }).server);
    expect(environment).toEqual({
      SITE: 'the cellar',
      POD_NAME: run.name,
      POD_NAMESPACE: 'openmcp-system',
      POD_IP: run.address,
      POD_SERVICE_ACCOUNT_NAME: 'cp-talos',
      // Of the image and of every container.
      NODE_ENV: 'production',
      PATH: expect.any(String),
      HOSTNAME: run.name,
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
    });
    const owner = /^Uid:\s+(\d+)\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'));
    expect(owner?.slice(1)).toEqual(['65532', '65532']);
  });

  it('C1: each program calls with the ServiceAccount of its own Pod, and is refused nothing', async () => {
    const [init] = inits();
    const calls = open().audit();
    const callers = new Set(calls.map(({ pod, user }) => `${pod} as ${user}`));
    const account = 'system:serviceaccount:openmcp-system:cp-talos';
    expect([...callers].sort()).toEqual(
      [`${init?.name} as ${account}-init`, `${(await theRunning()).name} as ${account}`].sort(),
    );
    expect(calls.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const made = calls.filter(({ pod }) => pod === init?.name).map(({ resource }) => resource);
    expect([...new Set(made)]).toEqual(['customresourcedefinitions']);
  });

  it('C6: init leaves every kind of ours behind, for the platform cluster', async () => {
    for (const crd of await crds()) {
      expect(crd?.metadata.labels).toMatchObject({ 'openmcp.cloud/cluster': 'platform' });
      expect(crd?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
    }
  });

  it('C3: metrics are served where the Service and the annotations of the operator lead', async () => {
    const run = await theRunning();
    const { namespace, platform } = open();
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
    const { code, text } = await ask(run, ':8080/metrics');
    expect(code).toBe(200);
    expect(text).toMatch(/^leader_election_master_status\{name="leader"\} 1$/m);
    expect(text).toMatch(/^controller_runtime_reconcile_total\{controller="cluster",result="success"\} \d+$/m);
  });

  it('C4: health and readiness are served on :8081', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const { code, text } = await ask(await theRunning(), `:8081${path}`);
      expect([code, text.split('\n').at(-2)]).toEqual([200, 'ok']);
    }
  });

  it('C1, C2: makes a Cluster of a ProviderConfig, all by itself', async () => {
    const { things, platform } = open();
    await things.credentials();
    await things.config('home', { pool: [10, 49] });
    await eventually('its profile is there', () => things.exists(ClusterProfile, { name: 'test.talos.home' }));
    await things.cluster(app);
    await isReady(app);
    expect((await platform.get(Cluster, app)).status?.observedGeneration).toBe(1);
    const run = await theRunning();
    expect(witness.changesOf(run).filter(({ what }) => what.startsWith('truenas '))).not.toEqual([]);
    expect(witness.violations()).toEqual([]);
    // Words that only DEBUG brings.
    expect(lifeOf(run).lines.filter((line) => line.includes('"level":"debug"'))).not.toEqual([]);
  });

  it('C1, C5, C6: rolls out to a second version, and while both are alive only one acts', async () => {
    const { things, platform } = open();
    const during: NamespacedRef = { namespace: 'team-a', name: 'during' };
    const first = await theRunning();
    // What an older version may have left, for the new init.
    await platform.merge(CustomResourceDefinition, crdKey, { spec: { names: { shortNames: ['older'] } } });
    const speak = kubelet.fallSilent(isController);
    await change({ image: imageOf('0.2.0') });
    const second = await eventually('the second is alive', () => running().find((pod) => pod !== first));
    await isWell(second);
    await things.cluster(during);
    await eventually('it is under way', async () => {
      const [machine] = await things.machines(during);
      return machine !== undefined && machine.status?.phase !== undefined;
    });
    expect(running()).toEqual([first, second]);
    expect(await witness.leader()).toBe(first);
    expect(witness.changesOf(second)).toEqual([]);
    expect((await things.getCluster(during)).status?.phase).toBe('Progressing');
    expect((await ask(second, ':8080/metrics')).text).toMatch(/^leader_election_master_status\{name="leader"\} 0$/m);
    speak();
    await isDeployed();
    await isReady(during);
    expect(await theRunning()).toBe(second);
    expect(second.pod.spec.containers[0]?.image).toBe(imageOf('0.2.0'));
    expect(lifeOf(first).exitCode).toBe(0);
    expect(await witness.leader()).toBe(second);
    expect(witness.changesOf(second)).not.toEqual([]);
    expect(witness.violations()).toEqual([]);
    const crd = await platform.get(CustomResourceDefinition, crdKey);
    expect(crd.spec['names']).toMatchObject(describeCrds()[0]?.spec['names'] as object);
  });

  it('C6: a kind of ours that is not for the platform cluster is left alone, and run goes on until that is settled', async () => {
    const { platform } = open();
    const label = (value: string | null) => ({ metadata: { labels: { 'openmcp.cloud/cluster': value } } });
    const before = await theRunning();
    const { metadata } = await platform.merge(CustomResourceDefinition, crdKey, label('onboarding'));
    await change({ env: [{ name: 'SITE', value: 'the attic' }] });
    const refused = await eventually('an init has failed', () => inits().find(({ phase }) => phase === 'Failed'));
    expect(lifeOf(refused).exitCode).toBe(1);
    expect(lifeOf(refused).lines.join()).toContain('has the value onboarding of the label openmcp.cloud/cluster');
    expect((await platform.get(CustomResourceDefinition, crdKey)).metadata.generation).toBe(metadata.generation);
    expect(running()).toEqual([before]);
    await platform.merge(CustomResourceDefinition, crdKey, label('platform'));
    await isDeployed();
    await theRunning(({ env = [] }) => env.some(({ name, value }) => name === 'SITE' && value === 'the attic'));
    expect(lifeOf(before).exitCode).toBe(0);
  });

  it('goes on as it was while a version that does not exist is to be rolled out, and then to one that does', async () => {
    const before = await theRunning();
    await change({ image: imageOf('9.9.9') });
    await eventually('its init cannot begin', async () => {
      const pods = await Promise.all(inits().map(({ pod }) => open().platform.find(KubePod, keyOf(pod))));
      const waiting = pods.map((pod) => pod?.status?.containerStatuses?.[0]?.state.waiting?.reason);
      return waiting.includes('ErrImagePull');
    });
    await throughout(2, () => expect(running()).toEqual([before]));
    const { status } = await open().platform.get(ClusterProvider, key);
    expect(status?.phase).toBe('Progressing');
    await change({ image: imageOf('0.2.0') });
    await isDeployed();
    expect(running()).toEqual([before]);
    expect(before.lives).toHaveLength(1);
  });

  it('C2, C5: two replicas take turns, also when the one that leads is killed', async () => {
    await change({ runReplicas: 2, verbosity: 'ERROR' });
    await isDeployed();
    const pods = await eventually('the one before them has ended', () => {
      const [one, two, ...others] = running();
      const isNew = (pod: PodWorker): boolean =>
        pod.pod.spec.containers[0]?.args?.includes('--verbosity=ERROR') ?? false;
      return one && two && others.length === 0 && isNew(one) && isNew(two) && [one, two];
    });
    expect(pods.map(({ pod }) => pod.spec.containers[0]?.args)).toEqual(
      pods.map(() => [
        'run',
        '--environment=test',
        '--verbosity=ERROR',
        '--provider-name=talos',
        '--leader-elect=true',
        ...metricsWords,
      ]),
    );
    for (const pod of pods) await isWell(pod);
    const leader = await eventually('one of them leads', async () => {
      const pod = await witness.leader();
      return pod && pods.includes(pod) && pod;
    });
    const holder = await witness.holder();
    process.kill(lifeOf(leader).pid, 'SIGKILL');
    await eventually('its container is started again', async () => {
      const { status } = await open().platform.get(KubePod, keyOf(leader.pod));
      const [container] = status?.containerStatuses ?? [];
      return container?.restartCount === 1 && container.lastState.terminated?.exitCode === 137;
    });
    expect(await witness.holder()).toBe(holder);
    await eventually('somebody leads again', async () => ![holder, ''].includes(await witness.holder()));
    for (const pod of pods) await isWell(pod);
    expect(witness.violations()).toEqual([]);
  });

  it('C3: metrics are served over TLS with a certificate of one’s own, where that is asked for', async () => {
    const { platform, namespace } = open();
    await change({ runReplicas: 1 });
    await isDeployed();
    const authority = await createAuthority('metrics');
    const name = 'metrics.example.org';
    const { cert, key: privateKey } = await authority.serving([], [name]);
    const data = { 'tls.crt': cert, 'tls.key': privateKey };
    await platform.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'metrics-tls' },
      type: 'kubernetes.io/tls',
      data: Object.fromEntries(Object.entries(data).map(([file, pem]) => [file, Buffer.from(pem).toString('base64')])),
    });
    const flags = ['--metrics-bind-address=:8443', '--metrics-secure', '--metrics-cert-path=/certificates'];
    await change({
      verbosity: 'INFO',
      metrics: { disabled: true },
      runCommand: ['run', ...flags],
      extraVolumes: [{ name: 'certificates', secret: { secretName: 'metrics-tls' } }],
      extraVolumeMounts: [{ name: 'certificates', mountPath: '/certificates' }],
    });
    await isDeployed();
    const run = await theRunning(({ args = [] }) => args.includes('--metrics-bind-address=:8443'));
    await isWell(run);
    const agent = new Agent({ connect: { ca: authority.ca, servername: name } });
    try {
      const { code, text } = await ask(run, ':8443/metrics', agent);
      expect([code, text]).toEqual([200, expect.stringContaining('leader_election_master_status')]);
    } finally {
      await agent.close();
    }
    await expect(ask(run, ':8443/metrics')).rejects.toThrow();
    await expect(ask(run, ':8080/metrics')).rejects.toThrow(/ECONNREFUSED/);
  });

  const made: readonly ResourceType[] = [
    Job,
    Deployment,
    ReplicaSet,
    KubePod,
    Service,
    ServiceAccount,
    ClusterRoleBinding,
    Role,
    RoleBinding,
  ];
  /** openmcp-operator 1.3.0 neither removes these nor gives them an owner. */
  const keptByOperator = ['Service cp-talos-metrics', 'Role cp-talos-init', 'RoleBinding cp-talos-init'];
  const leftovers = async (): Promise<string[]> => {
    const labelSelector = 'app.kubernetes.io/instance=talos';
    const lists = await Promise.all(made.map((type) => open().platform.list(type, { labelSelector })));
    return lists.flatMap(({ items }, i) => items.map(({ metadata }) => `${made[i]?.kind} ${metadata.name}`));
  };

  it('C1: is removed with its ClusterProvider, in order and without a trace, and leaves the Clusters alone', async () => {
    const { platform, things } = open();
    const run = await theRunning();
    const before = outsideWrites(open().calls).length;
    await things.remove(ClusterProvider, key);
    await eventually('the ClusterProvider is gone', async () => !(await things.exists(ClusterProvider, key)));
    await eventually('nothing of it is left', async () => {
      expect(await leftovers()).toEqual(keptByOperator);
      return true;
    });
    expect(running()).toEqual([]);
    expect(lifeOf(run).exitCode).toBe(0);
    expect(kubelet.pods.flatMap(({ lives }) => lives.filter(({ exitCode }) => exitCode === undefined))).toEqual([]);
    const clusters = (await platform.list(Cluster)).items.map(({ metadata, status }) => [metadata.name, status?.phase]);
    expect(clusters).toEqual([
      ['app', 'Ready'],
      ['during', 'Ready'],
    ]);
    expect(outsideWrites(open().calls).slice(before)).toEqual([]);
  });

  it('C1: takes up where it stopped when it is deployed again, and makes nothing twice', async () => {
    const { platform, things } = open();
    const before = outsideWrites(open().calls).length;
    const machines = (await platform.list(Machine)).items.map(({ metadata }) => metadata.uid);
    await install();
    await isDeployed();
    const run = await theRunning();
    await eventually('it leads', async () => (await witness.leader()) === run);
    await things.remove(Cluster, app);
    await eventually('the first Cluster is gone', async () => !(await things.exists(Cluster, app)));
    expect((await platform.list(Machine)).items.map(({ metadata }) => metadata.uid)).toEqual(machines.slice(1));
    const writes = outsideWrites(open().calls).slice(before);
    expect(writes.filter((name) => /create|Bootstrap|Apply/.test(name))).toEqual([]);
    expect(witness.violations()).toEqual([]);
  });

  describeWith('or the chart', missingPeers('helm'), () => {
    it('C4: counts as ready by its probes, and has rights enough to make a Cluster', async () => {
      const { things, platform, namespace } = open();
      const image = images.get(imageOf('0.1.0'));
      if (image) images.set('cluster-provider-talos:0.1.0', image);
      const set = ['--set=environment=test', '--set=providerName=second'];
      const words = ['template', 'second', 'charts/cluster-provider-talos', `--namespace=${namespace}`, ...set];
      const text = execFileSync(findPeer('helm') ?? 'helm', words, { encoding: 'utf8' });
      const session = await Session.fromFile(open().world.kubeconfig);
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
      const pod = kubelet.pods.at(-1);
      const { status } = await platform.get(KubePod, { namespace, name: pod?.name ?? '' });
      expect(status?.initContainerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0 });
      expect(status?.containerStatuses?.[0]).toMatchObject({ started: true, ready: true, restartCount: 0 });
      const far: NamespacedRef = { namespace: 'team-a', name: 'far' };
      await things.config('far', { provider: 'second', pool: [50, 99] });
      await things.cluster(far, { profile: things.profileOf('far', 'second') });
      await isReady(far);
      const calls = open()
        .audit()
        .filter((call) => call.pod === pod?.name);
      expect(calls.filter(({ user }) => user.endsWith(':second-cluster-provider-talos'))).toEqual(calls);
      expect(calls.filter(({ code }) => code === 403)).toEqual([]);
      await things.remove(Deployment, release);
      await eventually('its program has ended', () => pod?.phase === 'Succeeded');
    });
  });
}
