import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import {
  ClusterRole,
  ClusterRoleBinding,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
} from '../../../../src/kube/core-types.ts';
import type { ResourceType } from '../../../../src/kube/resource.ts';
import {
  type ApiServerConnection,
  loadApiServerConnection,
} from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { type Clock, systemClock } from '../../../../src/lib/clock.ts';
import { readYamlObjects } from '../../../demo/cluster-session.ts';
import { kubeconfigOf } from '../../../world/kube/index.ts';
import { type RunningWorld, startWorld } from '../../../world/world.ts';
import { TestObjects } from '../objects/test-objects.ts';
import type { AuditEntry } from '../observation/audit-log.ts';
import { ObjectRecorder } from '../observation/object-recorder.ts';
import { acceleratedClock } from '../provider-process/accelerated-clock.ts';
import { Provider, type ProviderRunMode } from '../provider-process/provider.ts';
import { PersistentTransport } from './persistent-transport.ts';
import { type RealPlatformCluster, startRealPlatformCluster } from './real-platform-cluster.ts';
import { startSecondPlatform } from './second-platform.ts';
import { trueNasReleaseFor } from './truenas-release.ts';

export interface TestbedOptions {
  /** The first three numbers of the /24 for the nodes of this test file, e.g. `127.42.100`. */
  readonly subnet: string;
  /** The host that the simulators listen on; default: loopback. The nodes' addresses are those of `subnet`. */
  readonly host?: string;
  /** Time scale of the simulators; default 0.005, two hundred times faster than real time. */
  readonly timeScale?: number;
  /**
   * The factor by which the waits of the provider's controllers are shorter; default 10. Leases and deadlines keep real
   * time.
   */
  readonly speed?: number;
  /** The clock of the provider's controllers, in place of `speed`. */
  readonly clock?: Clock;
  /** Seeds of the simulators. That of `operator` is the operator's configuration in its own format. */
  readonly seeds?: Readonly<Record<string, unknown>>;
  /** Release of TrueNAS, e.g. `26`; default: {@link trueNasReleaseFor} the subnet. */
  readonly truenas?: string;
  /**
   * The platform cluster: the simulated API server and operator, or real programs ({@link startRealPlatformCluster},
   * with k3s in a container in place of kube-apiserver or without), whose calls are not logged. Default: simulated.
   */
  readonly platform?: 'world' | 'real' | 'k3s';
  /** The API server of the created clusters, likewise. Default: simulated. */
  readonly workload?: 'world' | 'real';
  readonly provider?: ProviderRunMode;
  /**
   * Nothing of the provider exists, neither its kinds nor its account: the operator of a real platform deploys it, and
   * {@link Testbed.audit} returns the calls of its processes.
   */
  readonly isBare?: boolean;
  /** The test repeats what the platform's API server has not answered, because that is restarted meanwhile. */
  readonly isPersistent?: boolean;
}

/** The provider's own namespace, and its ServiceAccount in `config/rbac`. */
const namespace = 'openmcp-system';
const serviceAccountName = 'cluster-provider-talos';
/** The caller of a call at the platform's API server, as the interceptor reports it. */
export const userAgents = { provider: 'cluster-provider-talos', test: 'e2e-test' } as const;
const environment = 'test';

interface TestbedParts {
  readonly options: TestbedOptions;
  readonly world: RunningWorld;
  readonly platform: KubeClient;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly caBundle: string;
  readonly real: RealPlatformCluster | undefined;
}

/**
 * All simulators with the provider: a platform cluster with the operator, a TrueNAS system, an image factory, and the
 * `run` command in this process with the rights of `config/rbac` and no others.
 */
export class Testbed {
  readonly options: TestbedOptions;
  readonly world: RunningWorld;
  /** A client for an administrator of the platform cluster. */
  readonly platform: KubeClient;
  /** Creates, reads and deletes objects. */
  readonly objects: TestObjects;
  /** Records every version of every object. */
  readonly recorder = new ObjectRecorder();
  /** The provider `talos`. */
  readonly provider: Provider;
  readonly namespace = namespace;
  readonly environment = environment;
  readonly #folder: string;
  readonly #kubeconfig: string;
  readonly #real: RealPlatformCluster | undefined;
  readonly #providers: Provider[] = [];

  private constructor(parts: TestbedParts) {
    this.options = parts.options;
    this.world = parts.world;
    this.platform = parts.platform;
    this.#folder = parts.folder;
    this.#kubeconfig = parts.kubeconfig;
    this.#real = parts.real;
    this.objects = new TestObjects(parts.platform, {
      subnet: parts.options.subnet,
      namespace,
      environment,
      truenas: parts.world.truenas.line,
      caBundle: parts.caBundle,
      factoryUrl: parts.world.factory.line.url,
    });
    this.provider = this.addProvider('talos');
  }

  /** Starts everything and runs `init`, but not `run`: see {@link Provider.start}. */
  static async open(options: TestbedOptions): Promise<Testbed> {
    const folder = await mkdtemp(join(tmpdir(), 'stage-'));
    const { timeScale = 0.005, seeds = {}, platform: kind = 'world', workload = 'world' } = options;
    const config = seeds['operator'];
    const { isBare = false } = options;
    const real =
      kind === 'world'
        ? undefined
        : await startRealPlatformCluster({ environment, config, kube: kind, isDeploying: isBare });
    const opened: { close(): Promise<void> }[] = real ? [real] : [];
    try {
      const host = options.host === undefined ? {} : { host: options.host };
      const truenas = options.truenas ?? trueNasReleaseFor(options.subnet);
      const given = { ...host, truenas, ...(real ? { kubeconfig: real.kubeconfig, operator: false } : {}) };
      const world = await startWorld({ folder, timeScale, ports: 'any', seeds, workload, ...given });
      opened.unshift(world);
      return await Testbed.#on(world, { options, folder, real });
    } catch (error) {
      for (const one of opened) await one.close();
      throw error;
    }
  }

  static async #on(world: RunningWorld, at: Pick<TestbedParts, 'options' | 'folder' | 'real'>): Promise<Testbed> {
    const { isBare = false, isPersistent = false } = at.options;
    const connection = loadApiServerConnection({ path: world.kubeconfig });
    const TransportOfTest = isPersistent ? PersistentTransport : Transport;
    const transport = new TransportOfTest(connection, { userAgent: userAgents.test });
    const platform = new KubeClient(transport, { fieldManager: 'e2e-test' });
    const kubeconfig = isBare ? '' : await writeProviderKubeconfig(connection, platform, at.folder);
    const caBundle = await readFile(world.truenas.line.ca ?? '', 'utf8');
    const testbed = new Testbed({ ...at, world, platform, kubeconfig, caBundle });
    if (isBare) return testbed;
    await testbed.provider.init();
    await testbed.recorder.start(platform);
    return testbed;
  }

  /**
   * The same machines with another platform cluster, as after the loss of this one. It has the kinds and the account of
   * the provider, whose `run` is not started.
   */
  async onSecondPlatform(): Promise<Testbed> {
    const folder = await mkdtemp(join(tmpdir(), 'stage-'));
    const world = await startSecondPlatform(this.world, folder);
    return await Testbed.#on(world, { options: this.options, folder, real: undefined });
  }

  /**
   * Adds another instance of the provider, not started yet; `where` it differs from the first. With a namespace of its
   * own it is an administrator.
   */
  addProvider(name: string, where: { readonly environment?: string; readonly namespace?: string } = {}): Provider {
    const { clock } = this;
    const manner = this.options.provider ?? {};
    const kubeconfig = where.namespace === undefined ? this.#kubeconfig : this.world.kubeconfig;
    const provider = new Provider({ name, environment, kubeconfig, namespace, clock, ...where, ...manner });
    this.#providers.push(provider);
    return provider;
  }

  /** Of the provider's ServiceAccount. */
  get kubeconfig(): string {
    return this.#kubeconfig;
  }

  /** Path of a kubeconfig for a new account with the roles in a file and no others. */
  async kubeconfigWith(file: string): Promise<string> {
    const name = 'somebody';
    const subjects = [{ kind: 'ServiceAccount', name, namespace }];
    await this.platform.apply(ServiceAccount, { metadata: { name, namespace } });
    for (const role of await readYamlObjects(file)) {
      await this.platform.apply(rbacTypeOf(role.kind), role);
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: role.kind, name: role.metadata.name };
      const { metadata } = role;
      await this.platform.apply(rbacTypeOf(`${role.kind}Binding`), { metadata, roleRef, subjects } as never);
    }
    const connection = loadApiServerConnection({ path: this.world.kubeconfig });
    return await writeKubeconfig(connection, this.platform, name, join(this.#folder, `${name}.kubeconfig`));
  }

  /** The clock of a provider's controllers. */
  get clock(): Clock {
    if (this.options.clock) return this.options.clock;
    return this.options.speed === 1 ? systemClock : acceleratedClock(this.options.speed ?? 10);
  }

  /** Stops the platform's API server and starts it again on the same data. */
  async restartPlatform(): Promise<void> {
    await (this.#real ?? this.world.platform)?.restart();
  }

  /** Intercepted calls so far. */
  get calls() {
    return this.world.switchboard.calls;
  }

  /** Calls at the platform's API server so far, by processes that the operator deployed. */
  audit(): readonly AuditEntry[] {
    return this.#real?.audit() ?? [];
  }

  /** Every log line of all instances. */
  get logLines(): readonly string[] {
    return this.#providers.flatMap((provider) => provider.lines);
  }

  /** The installation id, by which the provider distinguishes its objects from those of other installations. */
  async installation(): Promise<string> {
    return (await this.platform.get(Namespace, { name: 'kube-system' })).metadata.uid ?? '';
  }

  /** The faults of their own that the instances logged. Failures of the simulators do not count. */
  faults(): string[] {
    const errors = this.logLines.filter((line) => /^\{"level":"(error|fatal)"/.test(line));
    // The accelerated clock leaves reconciles less time to end than they have in reality.
    const own = errors.filter((line) => !line.includes('reconciles did not end in time'));
    return own.map((line) => line.slice(0, 600));
  }

  /** The last log lines of the instances, and the messages of objects that are not ready, as a report. */
  tail(): string {
    const logs = this.#providers.map((provider) => `--- ${provider.name} ---\n${provider.tail()}`);
    const waiting = this.recorder.waiting().map((line) => `${line}\n`);
    const servers = this.world.robot
      .servers()
      .map(
        ({ number, history, stuck: stalled = '' }) =>
          `Server ${number}: ${history.slice(-12).join(', ')}. ${stalled}\n`,
      );
    const nodes = this.world.machines
      .nodes()
      .map(
        ({ name, stage, stuck: stalled = '', console: lines }) =>
          `Node ${name}: ${stage}. ${stalled} ${lines.at(-1) ?? ''}\n`,
      );
    return [...logs, '--- waiting ---\n', ...waiting, ...nodes, ...servers, this.#real?.logs() ?? ''].join('');
  }

  /** Ends the providers, then the simulators. Throws when a provider had died. */
  async close(): Promise<void> {
    const ends = await Promise.allSettled(this.#providers.map((provider) => provider.stop()));
    await this.recorder.stop();
    await this.platform.close();
    await this.world.close();
    await this.#real?.close();
    await rm(this.#folder, { recursive: true, force: true });
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

const rbacKinds: readonly ResourceType[] = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

const rbacTypeOf = (kind: string): ResourceType => {
  const type = rbacKinds.find((candidate) => candidate.kind === kind);
  if (!type) throw new Error(`roles are not made of a ${kind}`);
  return type;
};

/** A kubeconfig of the ServiceAccount that `config/rbac` makes for the provider. */
export async function writeProviderKubeconfig(
  at: ApiServerConnection,
  platform: KubeClient,
  folder: string,
): Promise<string> {
  for (const file of ['role.yaml', 'binding.yaml']) {
    for (const object of await readYamlObjects(`config/rbac/${file}`))
      await platform.apply(rbacTypeOf(object.kind), object);
  }
  return await writeKubeconfig(at, platform, serviceAccountName, join(folder, 'provider.kubeconfig'));
}

async function writeKubeconfig(
  at: ApiServerConnection,
  platform: KubeClient,
  name: string,
  path: string,
): Promise<string> {
  const { token } = await platform.requestToken({ namespace, name }, { expirationSeconds: 86_400 });
  const { tls } = await at.credentials();
  await writeFile(path, kubeconfigOf(at.server, String(tls.ca), { token: token.reveal() }), { mode: 0o600 });
  return path;
}
