import { Host, type HostStatus } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { group, version } from '../../../src/api/names.ts';
import { reconcileHost } from '../../../src/controllers/host/controller.ts';
import { HostClaims } from '../../../src/controllers/host/host-claims.ts';
import type { Services } from '../../../src/controllers/shared/services.ts';
import { hostIndexes } from '../../../src/controllers/shared/stores.ts';
import type { HostContext, HostInventory } from '../../../src/engine/capabilities/hosts.ts';
import { ProcessConnectionCache } from '../../../src/engine/connection-cache.ts';
import type { Platform } from '../../../src/engine/platform.ts';
import { done } from '../../../src/engine/step.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { ReconcileResult } from '../../../src/kube/controller/controller.ts';
import { ObjectStore } from '../../../src/kube/reflector/object-store.ts';
import { objectKeyOf, type ResourceType } from '../../../src/kube/resource.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import { robotHostSchemas } from '../../../src/platforms/hetzner-robot/hosts/robot-host.ts';
import { hetznerRobot } from '../../../src/platforms/hetzner-robot/index.ts';
import { aMachine, aProviderConfig, aSpec } from '../fixtures/builders.ts';
import { ManualClock } from '../manual-clock.ts';
import { type KubeWithCrds, startKubeWithCrds } from './kube-with-crds.ts';

export const seenServer = {
  address: '203.0.113.1',
  ipv6Net: '2001:db8::',
  product: 'AX42',
  location: 'FSN1',
};

/** A Machine on a server. */
export const aServerMachine = (slot: number): Machine => {
  const machine = aMachine(slot);
  return { ...machine, spec: { ...machine.spec, platform: hetznerRobot.name } };
};

const serverSpec = () =>
  aSpec((raw) => {
    const section = { credentialsRef: { name: 'robot' }, sizes: [{ name: 'small', hostSelector: {} }] };
    Object.assign(raw, { truenas: undefined, network: { nameServers: ['192.0.2.53'] }, hetznerRobot: section });
  });

/**
 * Hosts on a simulated API server, and a server inventory that the test controls. The stores contain the state of their
 * last refresh: a test controls their age.
 */
export class HostHarness {
  readonly clock = new ManualClock();
  /** The Events, e.g. `Normal Claimed`. */
  readonly messages: string[] = [];
  /** Number of PATCH and other write requests since the last reset. */
  writes = 0;
  readonly #server: KubeWithCrds;
  readonly kube: KubeClient;
  /** The responses of the simulated server inventory. */
  readonly inventory: { -readonly [K in keyof HostInventory<unknown>]: HostInventory<unknown>[K] } = {
    schemas: robotHostSchemas,
    mayClaim: (_, labels) => labels['for'] !== 'nobody',
    whyUnsuitable: () => undefined,
    whyUnusable: () => undefined,
    listServers: async () => [],
    identify: async () => ({ server: seenServer }),
    inspect: [],
    reboot: [],
  };

  private constructor(server: KubeWithCrds) {
    this.#server = server;
    this.kube = server.kube;
  }

  static async open(): Promise<HostHarness> {
    return new HostHarness(await startKubeWithCrds());
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  /** Deletes everything, and resets the events and the inventory to the expected server. */
  async reset(): Promise<void> {
    await this.clear();
    this.messages.splice(0);
    Object.assign(this.inventory, { identify: async () => ({ server: seenServer }), inspect: [], reboot: [] });
  }

  async clear(): Promise<void> {
    for (const type of [Host, Machine] as ResourceType[]) {
      for (const { metadata } of (await this.kube.list(type)).items) {
        if (metadata.finalizers?.length) await this.kube.merge(type, metadata, { metadata: { finalizers: null } });
        await this.kube.remove(type, { name: metadata.name });
      }
    }
  }

  /** Creates a Host as users write it, with the given status. */
  async host(
    name: string,
    words: { spec?: object; metadata?: object; status?: Partial<HostStatus> } = {},
  ): Promise<Host> {
    const number = 1 + Math.abs([...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 7));
    const made = await this.kube.create(Host, {
      ...{ apiVersion: `${group}/${version}`, kind: 'Host', metadata: { name, ...words.metadata } },
      spec: { serverID: `${number}`, hetznerRobot: {}, expect: { product: 'AX42' }, ...words.spec } as never,
    });
    if (!words.status) return made;
    return await this.kube.merge(Host, objectKeyOf(made), { status: words.status }, { subresource: 'status' });
  }

  /** Creates a Machine. */
  async machine(slot = 0, finished = false): Promise<Machine> {
    const { status: _, ...drawn } = aServerMachine(slot);
    const made = await this.kube.create(Machine, { ...drawn, metadata: { name: drawn.metadata.name } });
    const [step, since] = [finished ? '' : 'host-claimed', this.clock.now().toISOString()];
    const progress = { plan: 'provision', step, since, ...(finished && { finishedAt: since }) };
    return await this.kube.merge(Machine, objectKeyOf(made), { status: { progress } }, { subresource: 'status' });
  }

  async get(name: string): Promise<Host> {
    return await this.kube.get(Host, { name });
  }

  /**
   * The services of a provider that starts at this moment. `kube`: instead of the client; `known`: the Hosts in its
   * cache.
   */
  async services(kube: KubeClient = this.kube, known?: readonly Host[]): Promise<Services> {
    const hosts = new ObjectStore<Host>(hostIndexes);
    const machines = new ObjectStore<Machine>();
    hosts.replace(known ?? (await this.kube.list(Host)).items);
    machines.replace((await this.kube.list(Machine)).items);
    const providerConfigs = new ObjectStore();
    providerConfigs.put(aProviderConfig(serverSpec()));
    const secrets = { get: () => ({ data: {} }) };
    const platform: Platform = { ...hetznerRobot, hosts: this.inventory };
    const { clock } = this;
    const addresses = { release: async () => {}, transfer: async () => undefined };
    const events = {
      record: (...[, type, reason]: string[] | [unknown, ...string[]]) => this.messages.push(`${type} ${reason}`),
    };
    return {
      ...{ environment: 'test', provider: 'talos', namespace: 'openmcp-system', installation: 'installation-1' },
      stores: { hosts, machines, providerConfigs, secrets },
      platforms: [platform],
      connections: new ProcessConnectionCache(),
      addresses,
      hosts: new HostClaims({ kube, addresses, store: hosts, events: events as never, clock }),
      observer: { step: () => {}, granted: () => {} },
      ...{ kube, events, clock, log: noLog },
    } as unknown as Services;
  }

  /** Reconciles a Host once, with complete caches. */
  async reconcile(name: string, services?: Services): Promise<ReconcileResult> {
    const { signal } = new AbortController();
    return await reconcileHost(services ?? (await this.services()), { name }, { signal, log: noLog });
  }

  /** The same, and the resulting Host. */
  async look(name = 'a'): Promise<{ result: ReconcileResult; host: Host }> {
    const result = await this.reconcile(name);
    return { result, host: await this.get(name) };
  }
}

export const hostCondition = (host: Host, type: string) => host.status?.conditions.find((one) => one.type === type);

/** The status of a Host that this Machine holds. */
export const statusHeldBy = ({ metadata }: Machine, state: HostStatus['state'] = 'Provisioned') => ({
  state,
  machineRef: { name: metadata.name, uid: metadata.uid ?? '', since: '2026-11-21T09:00:00Z' },
});

/** For a server inventory that does not answer. */
export const throwUnreachable = async () => {
  throw new ProviderError('UNREACHABLE', 'No answer.');
};

/** A step of a task that runs the given function and is then done. */
export const taskStep = (name: string, run: (context: HostContext) => Promise<unknown> = async () => {}) => ({
  name,
  run: async (context: HostContext) => {
    const outcome = await run(context);
    return (outcome as ReturnType<typeof done> | undefined) ?? done();
  },
});
