import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, request } from 'undici';
import { afterAll, beforeEach } from 'vitest';
import { parse } from 'yaml';
import { buildCrds } from '../../../../src/api/crd.ts';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { CustomResourceDefinition } from '../../../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { missingUpstreamCrds } from '../../../peers/openmcp-operator.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Image, makeImage } from '../kubelet/image.ts';
import { Kubelet } from '../kubelet/kubelet.ts';
import { missingForSandbox } from '../kubelet/pod-sandbox.ts';
import type { Container } from '../kubelet/pod-types.ts';
import type { PodWorker } from '../kubelet/pod-worker.ts';
import { missingForRealPlatformCluster } from '../testbed/real-platform-cluster.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../testbed/testbed-hooks.ts';
import { ClusterProvider, DeploymentFencingMonitor, isControllerPod } from './operator-kinds.ts';

/** The reason why the operator cannot deploy here, in one sentence. `number`: of a Pod for the trial, unique. */
export const missingForDeployment = async (number: number): Promise<string | undefined> =>
  missingForRealPlatformCluster() ?? missingUpstreamCrds() ?? (await missingForSandbox(number));

export const imageReference = (version: string): string => `registry.example.org/cluster-provider-talos:${version}`;

/** Of the ClusterProvider. */
export const clusterProviderKey = { name: 'talos' };
/** The arguments that the operator passes to the init program. */
export const initArguments = ['--environment=test', '--verbosity=DEBUG', '--provider-name=talos'];
export const metricsArguments = ['--metrics-bind-address=:8080', '--metrics-secure=false'];

/** The last run of a Pod's program. */
export function lastProcessOf(pod: PodWorker) {
  const life = pod.lives.at(-1);
  if (!life) throw new Error(`${pod.name} has not begun`);
  return life;
}

/**
 * One platform cluster of real programs for all tests of a file, on which the operator deploys this provider, with a
 * simulated kubelet. `firstPod`: files run in parallel, and each has 100 Pods of its own from this number on.
 */
export function startDeployedProvider({
  subnet,
  firstPod,
}: {
  subnet: string;
  firstPod: number;
}): () => DeployedProvider {
  const seeds = { operator: { scheduler: { purposeMappings: {} } } };
  const open = startTestbed({ subnet, platform: 'real', isBare: true, seeds });
  let deployed: DeployedProvider | undefined;
  prepareTestbed(open, async (testbed) => {
    deployed = await DeployedProvider.open(testbed, firstPod);
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(deployed?.kubelet.tail() ?? '');
    });
  });
  afterAll(async () => await deployed?.close());
  return () => {
    if (!deployed) throw new Error('the kubelet did not start');
    return deployed;
  };
}

export class DeployedProvider {
  readonly testbed: Testbed;
  readonly kubelet: Kubelet;
  readonly witness: DeploymentFencingMonitor;
  /** Available images, by name. */
  readonly images: Map<string, Image>;
  readonly #folder: string;

  private constructor(testbed: Testbed, kubelet: Kubelet, images: Map<string, Image>, folder: string) {
    this.testbed = testbed;
    this.kubelet = kubelet;
    this.witness = new DeploymentFencingMonitor(testbed, kubelet);
    this.images = images;
    this.#folder = folder;
  }

  static async open(testbed: Testbed, firstPod: number): Promise<DeployedProvider> {
    const folder = await mkdtemp(join(tmpdir(), 'images-'));
    const versions = ['0.1.0', '0.2.0'];
    const images = new Map(versions.map((version) => [imageReference(version), makeImage(join(folder, version))]));
    const { server } = loadApiServerConnection({ path: testbed.world.kubeconfig });
    const { platform: client, namespace } = testbed;
    const kubelet = await Kubelet.start({ client, server, namespace, images, firstPod });
    return new DeployedProvider(testbed, kubelet, images, folder);
  }

  async close(): Promise<void> {
    await this.kubelet.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The Pods of the Deployment whose programs run. */
  running(): PodWorker[] {
    const runs = ({ lives }: PodWorker) => lives.at(-1) && lives.at(-1)?.exitCode === undefined;
    return this.kubelet.pods.filter((worker) => isControllerPod(worker.pod) && runs(worker));
  }

  /**
   * Waits for the only running Pod. The operator may report success before the Deployment has noticed its change, and a
   * replaced Pod may take a while to end after that.
   */
  theRunning(isMeant: (container: Container) => boolean = () => true): Promise<PodWorker> {
    return eventually('one program runs, as it was asked for', () => {
      const [pod, ...others] = this.running();
      const container = pod?.pod.spec.containers[0];
      return others.length === 0 && container !== undefined && isMeant(container) && pod;
    });
  }

  inits(): PodWorker[] {
    return this.kubelet.pods.filter(({ pod }) => !isControllerPod(pod));
  }

  async install(): Promise<void> {
    const sample = parse(await readFile('config/samples/clusterprovider.yaml', 'utf8')) as ClusterProvider;
    const env = [{ name: 'SITE', value: 'the cellar' }];
    const spec = { ...sample.spec, verbosity: 'DEBUG', env };
    await this.testbed.platform.create(ClusterProvider, { ...sample, spec });
  }

  change(spec: Partial<ClusterProvider['spec']>): Promise<ClusterProvider> {
    return this.testbed.platform.merge(ClusterProvider, clusterProviderKey, { spec });
  }

  /** Waits until the operator has applied the ClusterProvider, and reports it. */
  isDeployed(): Promise<ClusterProvider> {
    return eventually('the operator says that the provider is ready', async () => {
      const provider = await this.testbed.platform.get(ClusterProvider, clusterProviderKey);
      const { phase, observedGeneration } = provider.status ?? {};
      return phase === 'Ready' && observedGeneration === provider.metadata.generation && provider;
    });
  }

  /** Our kinds that exist on the platform cluster. */
  async crds(): Promise<(CustomResourceDefinition | undefined)[]> {
    const find = (name: string) => this.testbed.platform.find(CustomResourceDefinition, { name });
    return await Promise.all(buildCrds().map(({ metadata }) => find(metadata.name)));
  }

  /** Waits until a Cluster is ready. */
  isReady(ref: NamespacedRef): Promise<boolean> {
    const { objects } = this.testbed;
    const ready = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
    return eventually(`cluster ${ref.name} is ready`, ready, 100);
  }

  /** Requests a path from a port of a program. With an agent that verifies its certificate: over TLS. */
  async ask(
    pod: PodWorker,
    where: string,
    agent?: Agent,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ code: number; text: string }> {
    const url = `${agent ? 'https' : 'http'}://${pod.address}${where}`;
    const options = { headers, signal: AbortSignal.timeout(5000), ...(agent ? { dispatcher: agent } : {}) };
    const { statusCode, body } = await request(url, options);
    return { code: statusCode, text: await body.text() };
  }

  isWell(pod: PodWorker): Promise<boolean> {
    return eventually(`${pod.name} is well`, async () => (await this.ask(pod, ':8081/readyz')).code === 200);
  }
}
