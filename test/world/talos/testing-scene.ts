import { Code, ConnectError } from '@connectrpc/connect';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import type { MachineDescription, RunningMachine } from '../machine.ts';
import {
  type ConfigOptions,
  connect,
  makeConfig,
  makeSecrets,
  nextMac,
  rewriteBootDisc,
  startWorld,
  type TestClient,
  type TestSecrets,
  type TestWorld,
} from './testing.ts';

let made: Promise<TestSecrets> | undefined;

/** Secrets of one cluster, made once for all tests of a file. */
export const sharedSecrets = (): Promise<TestSecrets> => {
  made ??= makeSecrets();
  return made;
};

/** A machine of a scene: switched on, with a configuration that its cidata has or that it waits for. */
export interface Actor {
  readonly address: string;
  readonly machine: MachineDescription;
  /** What the machine is or would be configured with. */
  readonly config: string;
  readonly running: RunningMachine;
  /** A client with this organization in its certificate, or with `null` one without a certificate. */
  client(organization?: string | null): Promise<TestClient>;
  /** Switches it off and on again. */
  again(): Promise<void>;
}

export interface Scene extends Actor {
  readonly world: TestWorld;
  /** Another machine in the same network. */
  add(name: string, change?: SceneOptions): Actor;
}

export interface SceneOptions extends Partial<ConfigOptions> {
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
  readonly prepare?: (world: TestWorld, machine: MachineDescription) => void;
}

/** One machine, to which others may be added, whose time moves only when the test waits for something. */
export async function scene(name: string, options: SceneOptions = {}): Promise<Scene> {
  const secrets = await sharedSecrets();
  const world = await startWorld('stepped');
  const clients: TestClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.close();
    await world.close();
  });
  const endpoint = `https://${world.nextAddress()}:6443`;
  const add = (other: string, change: SceneOptions = {}) => appear(world, clients, secrets, endpoint, other, change);
  return Object.assign(add(name, options), { world, add });
}

function appear(
  world: TestWorld,
  clients: TestClient[],
  secrets: TestSecrets,
  endpoint: string,
  name: string,
  options: SceneOptions,
): Actor {
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
      const client = await connect(address, organization === null ? undefined : secrets, [organization ?? '']);
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

export interface Status {
  readonly stage: string;
  readonly status: { readonly ready: boolean; readonly unmetConditions: readonly { name: string; reason: string }[] };
}

export async function statusOf(client: TestClient): Promise<Status> {
  const request = { namespace: 'runtime', type: 'MachineStatuses.runtime.talos.dev', id: 'machine' };
  return parse((await client.state.get(request)).resource?.spec?.yamlSpec ?? '') as Status;
}

export const inStage = (world: TestWorld, client: TestClient, stage: string): Promise<Status> =>
  world.until(`stage ${stage}`, async () => {
    const status = await statusOf(client);
    return status.stage === stage && status;
  });

/** Asked of the service: etcd itself does not answer before. */
export const etcdRuns = (world: TestWorld, machine: TestClient['machine']): Promise<true> =>
  world.until('etcd', async () => {
    const { services = [] } = (await machine.serviceList({})).messages[0] ?? {};
    return services.some(({ id, state }) => id === 'etcd' && state === 'Running') ? true : undefined;
  });

export const fromDisk = ({ world, machine }: Pick<Scene, 'world' | 'machine'>) =>
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

export const refused = async (call: Promise<unknown>): Promise<string> => {
  const error = await errorOf(call);
  return `${Code[error.code]}: ${error.rawMessage}`;
};
