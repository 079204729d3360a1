import { Code, ConnectError } from '@connectrpc/connect';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import type { MachineDescription, RunningMachine } from '../../../world/machine-runner/machine.ts';
import {
  type ConfigOptions,
  connectTalos,
  makeConfig,
  makeSecrets,
  nextMac,
  rewriteBootDisc,
  startTalosTestBed,
  type TalosTestBed,
  type TestClient,
  type TestSecrets,
} from './talos-test-bed.ts';

let sharedSecretsPromise: Promise<TestSecrets> | undefined;

/** Secrets of one cluster, generated once for all tests of a file. */
export const sharedTestSecrets = (): Promise<TestSecrets> => {
  sharedSecretsPromise ??= makeSecrets();
  return sharedSecretsPromise;
};

/** A running machine of a test cluster, with a configuration in its cidata or in maintenance mode. */
export interface TestNode {
  readonly address: string;
  readonly machine: MachineDescription;
  /** The actual or intended configuration of the machine. */
  readonly config: string;
  readonly running: RunningMachine;
  /** A client with this organization in its certificate, or with `null` one without a certificate. */
  client(organization?: string | null): Promise<TestClient>;
  /** Switches it off and on again. */
  again(): Promise<void>;
}

export interface TestCluster extends TestNode {
  readonly world: TalosTestBed;
  /** Another machine in the same network. */
  add(name: string, change?: TestNodeOptions): TestNode;
}

export interface TestNodeOptions extends Partial<ConfigOptions> {
  /** No user-data: only an address and a host name. */
  readonly maintenance?: boolean;
  /** Changes the text of the configuration. */
  readonly edit?: (text: string) => string;
  /** Other files on the cidata disc. */
  readonly files?: Readonly<Record<string, string>>;
  /** Another image on the boot disc. */
  readonly image?: Readonly<Record<string, unknown>>;
  /** Other hardware. */
  readonly hardware?: Partial<MachineDescription>;
  readonly prepare?: (world: TalosTestBed, machine: MachineDescription) => void;
}

/** One machine, and optionally more. By default the clock advances only while the test waits. */
export async function startTestCluster(
  name: string,
  options: TestNodeOptions = {},
  create: () => Promise<TalosTestBed> = () => startTalosTestBed('stepped'),
): Promise<TestCluster> {
  const secrets = await sharedTestSecrets();
  const world = await create();
  const clients: TestClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.close();
    await world.close();
  });
  const endpoint = `https://${world.nextAddress()}:6443`;
  const add = (other: string, change: TestNodeOptions = {}) =>
    addTestNode(world, clients, secrets, endpoint, other, change);
  return Object.assign(add(name, options), { world, add });
}

function addTestNode(
  world: TalosTestBed,
  clients: TestClient[],
  secrets: TestSecrets,
  endpoint: string,
  name: string,
  options: TestNodeOptions,
): TestNode {
  const address = options.address ?? world.address();
  const mac = nextMac();
  const base = { secrets, role: 'controlplane', hostname: name, mac, endpoint, factory: world.factory.place } as const;
  const text = makeConfig({ ...base, ...options, address });
  const config = options.edit ? options.edit(text) : text;
  const network = { version: 2, ethernets: { any: { match: { macaddress: mac }, addresses: [`${address}/16`] } } };
  const usual = options.maintenance
    ? { 'meta-data': `local-hostname: ${name}\n`, 'network-config': stringify(network) }
    : { 'user-data': config, 'meta-data': 'instance-id: one\n' };
  const machine = world.machine(name, options.files ?? usual, options.hardware);
  if (options.image) rewriteBootDisc(machine, options.image);
  options.prepare?.(world, machine);
  const actor = {
    address,
    machine,
    config,
    running: world.start(machine),
    client: async (organization: string | null = 'os:admin') => {
      const client = await connectTalos(address, organization === null ? undefined : secrets, [organization ?? '']);
      clients.push(client);
      return client;
    },
    again: async () => {
      actor.running.kill();
      await actor.running.exited;
      actor.running = world.start(machine);
    },
  };
  return actor;
}

export interface MachineStatusView {
  readonly stage: string;
  readonly status: { readonly ready: boolean; readonly unmetConditions: readonly { name: string; reason: string }[] };
}

export async function readMachineStatus(client: TestClient): Promise<MachineStatusView> {
  const request = { namespace: 'runtime', type: 'MachineStatuses.runtime.talos.dev', id: 'machine' };
  return parse((await client.state.get(request)).resource?.spec?.yamlSpec ?? '') as MachineStatusView;
}

export const awaitStage = (world: TalosTestBed, client: TestClient, stage: string): Promise<MachineStatusView> =>
  world.until(`stage ${stage}`, async () => {
    const status = await readMachineStatus(client);
    return status.stage === stage && status;
  });

/** Read from the service: etcd itself does not answer before. */
export const awaitEtcdRunning = (world: TalosTestBed, machine: TestClient['machine']): Promise<true> =>
  world.until('etcd', async () => {
    const { services = [] } = (await machine.serviceList({})).messages[0] ?? {};
    return services.some(({ id, state }) => id === 'etcd' && state === 'Running') ? true : undefined;
  });

export const awaitBootFromDisk = ({ world, machine }: Pick<TestCluster, 'world' | 'machine'>) =>
  world.until('the boot from disk', () => {
    const node = world.runner.node(machine.name);
    return node?.listening && node.console.some((line) => line.includes('from disk')) && node;
  });

export const errorOf = (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: unknown) => ConnectError.from(error),
  );

export const messageOfRejection = async (call: Promise<unknown>): Promise<string> => {
  const error = await errorOf(call);
  return `${Code[error.code]}: ${error.rawMessage}`;
};
