import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ClusterConfig } from '../../../src/api/cluster-config.ts';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { labels } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { collectionPath } from '../../../src/kube/client/resource-paths.ts';
import { Namespace, Secret } from '../../../src/kube/core-types.ts';
import type { ResourceType } from '../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noLog } from '../../../src/lib/log.ts';
import { auditArguments, readAuditLog } from '../../e2e/support/observation/audit-log.ts';
import { Provider } from '../../e2e/support/provider-process/provider.ts';
import { writeProviderKubeconfig } from '../../e2e/support/testbed/testbed.ts';
import { type RealKube, startRealKube } from '../../peers/kube-apiserver.ts';
import { eventually } from '../../support/eventually.ts';
import { installOpenmcpKinds, systemNamespace } from '../../world/operator/install-openmcp.ts';
import { SimulatorProcess } from '../simulator-process.ts';
import type { ClusterTemplate } from './cluster-template.ts';
import type { ClustersInput, ClustersReport } from './clusters-process.ts';
import { fleetProviderName as providerName } from './fleet-layout.ts';
import { seedFleet } from './seed-fleet.ts';
import type { SystemsInput, SystemsReady } from './systems-process.ts';

const environment = 'test';

export interface FleetOptions {
  readonly pattern: ClusterTemplate;
  /** The folder of `pattern.json` and `bundles.json`. */
  readonly folder: string;
  readonly bundles: readonly string[];
  readonly clusters: number;
}

/** Ready clusters, and the provider as a separate program. */
export class Fleet {
  readonly provider: Provider;
  readonly #options: FleetOptions;
  readonly #kube: RealKube;
  readonly #admin: KubeClient;
  readonly #calls = new Map<string, number>();
  readonly #folder: string;
  #startedAt = 0;
  #systems: SimulatorProcess<SystemsReady, Record<string, number>> | undefined;
  #clusters: SimulatorProcess<object, ClustersReport> | undefined;

  private constructor(
    options: FleetOptions,
    kube: RealKube,
    folder: string,
    at: { admin: KubeClient; kubeconfig: string },
  ) {
    this.#options = options;
    this.#kube = kube;
    this.#folder = folder;
    this.#admin = at.admin;
    // The chart limits its memory to 512Mi, of which Node gives half to the heap.
    const asProgram = { speed: 1, verbosity: 'info', heapMiB: 256 } as const;
    const common = { environment, kubeconfig: at.kubeconfig, namespace: systemNamespace, clock: systemClock };
    this.provider = new Provider({ ...common, name: providerName, asProgram });
  }

  /** Starts everything except for the provider. */
  static async open(options: FleetOptions): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'fleet-'));
    const kube = await startRealKube({ apiServerArguments: await auditArguments(folder, systemNamespace) });
    const opened: { close(): Promise<void> }[] = [kube];
    try {
      const connection = loadApiServerConnection({ path: kube.kubeconfigPath });
      const admin = new KubeClient(new Transport(connection), { fieldManager: 'bench' });
      await installOpenmcpKinds(admin, noLog, AbortSignal.timeout(60_000));
      const kubeconfig = await writeProviderKubeconfig(connection, admin, folder);
      const installation = (await admin.get(Namespace, { name: 'kube-system' })).metadata.uid ?? '';
      const fleet = new Fleet(options, kube, folder, { admin, kubeconfig });
      opened.unshift(fleet);
      await fleet.provider.init();
      await fleet.#furnish(installation);
      return fleet;
    } catch (error) {
      await opened[0]?.close();
      throw error;
    }
  }

  async #furnish(installation: string): Promise<void> {
    const { clusters, bundles, pattern, folder } = this.#options;
    const input: SystemsInput & ClustersInput = { folder, home: this.#folder, installation, clusters };
    this.#systems = new SimulatorProcess(new URL('./systems-process.ts', import.meta.url), input);
    this.#clusters = new SimulatorProcess(new URL('./clusters-process.ts', import.meta.url), input);
    const systems = await this.#systems.ready;
    await seedFleet(this.#kube.kubeconfigPath, {
      ...{ pattern, bundles, clusters, installation, systems, namespace: systemNamespace },
    });
    await this.#clusters.ready;
  }

  /** All calls so far to NAS and API servers of clusters, with the number of each. */
  async calls(): Promise<ReadonlyMap<string, number>> {
    await this.#listen();
    return new Map(this.#calls);
  }

  /** All writes of the provider so far, to any system, without its Lease. */
  async writes(): Promise<readonly string[]> {
    const outside = [...(await this.calls())].filter(([name]) => isWrite(name));
    return [
      ...this.#platformWrites(),
      ...outside.flatMap(([name, count]) => Array.from({ length: count }, () => name)),
    ];
  }

  #platformWrites(): string[] {
    return readAuditLog(this.#folder)
      .filter(({ verb, resource, name }) => {
        const isRead = ['get', 'list', 'watch'].includes(verb);
        return !isRead && !(resource === 'leases' && name.startsWith('cluster-provider-talos-'));
      })
      .map(({ verb, resource, namespace, name }) => `platform ${verb} ${resource} ${namespace}/${name}`);
  }

  /** Descriptions of the Clusters and Machines that are not ready. */
  async unready(): Promise<string[]> {
    const all = [...(await this.#admin.list(Cluster)).items, ...(await this.#admin.list(Machine)).items];
    return all
      .filter(({ status }) => status?.phase !== 'Ready')
      .map(({ kind, metadata, status }) => `${kind} ${metadata.name}: ${JSON.stringify(status?.conditions)}`);
  }

  /** Adds up the calls since the last time. Returns the clusters that received calls. */
  async #listen(): Promise<readonly number[]> {
    if (!this.#systems || !this.#clusters) throw new Error('the fleet is not complete');
    const [systems, { calls, asked }] = [await this.#systems.ask(), await this.#clusters.ask()];
    for (const [name, count] of Object.entries(systems)) this.#add(name, count);
    for (const [name, count] of Object.entries(calls)) this.#add(`workload ${name}`, count);
    return asked;
  }

  #add(name: string, count: number): void {
    this.#calls.set(name, (this.#calls.get(name) ?? 0) + count);
  }

  /** Milliseconds that a new Node process needs to list the objects that the provider caches. */
  async bareLists(): Promise<number> {
    const { url: server, ca, token } = this.#kube;
    const input = JSON.stringify({ server, ca, token, paths: initialLists.map(listPath), pageSize: 500 });
    const path = fileURLToPath(new URL('./minimal-lists.mjs', import.meta.url));
    const startedAt = performance.now();
    await promisify(execFile)(process.execPath, [path], { env: { ...process.env, BARE_LISTS: input } });
    return performance.now() - startedAt;
  }

  /** Starts the provider. Returns the milliseconds until its controllers run. */
  async start(): Promise<number> {
    const { provider } = this;
    await this.#listen();
    const since = provider.lines.length;
    this.#startedAt = performance.now();
    provider.start();
    const works = (): boolean =>
      provider.lines.slice(since).filter((line) => line.includes('controller starts')).length >= controllerCount;
    await eventually('the controllers work', works, 120);
    return performance.now() - this.#startedAt;
  }

  /** Milliseconds from its start until it has called every cluster. */
  async untilAsked(): Promise<number> {
    const seen = new Set<number>();
    const all = async (): Promise<boolean> => {
      for (const number of await this.#listen()) seen.add(number);
      return seen.size >= this.#options.clusters;
    };
    await eventually('it has asked every cluster', all, 600);
    return performance.now() - this.#startedAt;
  }

  async close(): Promise<void> {
    await this.provider.stop().catch(() => {});
    await this.#systems?.close();
    await this.#clusters?.close();
    await this.#admin.close();
    await this.#kube.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Whether a call to a NAS or to the API server of a cluster writes, by its name in the simulators. */
const isWrite = (name: string): boolean =>
  /^workload (?!GET )/.test(name) ||
  /^truenas (POST |.*\.(create|update|delete|start|stop|poweroff|restart|resume|suspend|put)$)/.test(name);

/** The number of controllers that `run` starts. */
const controllerCount = 5;

/** The initial lists of the provider's stores (controllers/shared/stores.ts). */
const initialLists: readonly { type: ResourceType; namespace?: string; labelSelector?: string }[] = [
  ...[ProviderConfig, ClusterProfile, ClusterConfig, Cluster, Host, AccessRequest].map((type) => ({ type })),
  { type: Machine, labelSelector: `${labels.provider}=${providerName}` },
  { type: Secret, namespace: systemNamespace },
  { type: Secret, labelSelector: `${labels.provider}=${providerName},${labels.access}` },
];

function listPath({ type, namespace, labelSelector }: (typeof initialLists)[number]): string {
  const query = labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`;
  return `${collectionPath(type, namespace, true)}${query}`;
}
