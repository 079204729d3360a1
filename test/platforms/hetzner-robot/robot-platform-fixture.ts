import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import type { StepContext } from '../../../src/engine/contexts.ts';
import type { HostSpecView } from '../../../src/engine/host.ts';
import type { NodeHardware } from '../../../src/engine/node.ts';
import type { Facts } from '../../../src/engine/step.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { hetznerRobot } from '../../../src/platforms/hetzner-robot/index.ts';
import { openTalosClient, type TalosClient } from '../../../src/talos/client/client.ts';
import { createClusterNodeClient } from '../../../src/talos/client/cluster-node-client.ts';
import { openMaintenanceClient } from '../../../src/talos/client/maintenance-client.ts';
import { createTalosCredentials, type TalosCredentials } from '../../../src/talos/secrets/client-credentials.ts';
import { placeholderBundle } from '../../../src/talos/secrets/placeholder-bundle.ts';
import type { SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { type MachineRecord, SimulatedProviderProcess } from '../../support/harness/simulated-provider-process.ts';
import { CallInterceptor, type Fault } from '../../world/faults/call-interceptor.ts';
import { type ImageFactorySimulator, startImageFactory } from '../../world/image-factory/index.ts';
import { type RobotSimulator, startRobotSimulator } from '../../world/robot/index.ts';
import type { RobotSeedInput } from '../../world/robot/robot-fixture.ts';
import { makeSshKey } from '../../world/robot/setup/ssh-key.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { startTalosRunner } from '../../world/talos/index.ts';
import { InMemoryHosts } from './in-memory-hosts.ts';

export type { MachineRecord };

const started = Date.now();
/** Runs faster than real time by the scale of the simulators. */
const clockAt = (scale: number): Clock => ({
  now: () => new Date(started + (Date.now() - started) / scale),
  monotonic: () => performance.now() / scale,
  sleep: (ms, signal) => delay(ms * scale, undefined, signal ? { signal } : {}),
});

/** The key to the rescue systems; foreign systems may have its public half, too. */
export const rescueKey = makeSshKey();
const schematic = { extensions: [], kernelArguments: [] };

/** An installation with Hosts of its own, other than the fixture's default. */
export interface InstallationHosts {
  readonly name: string;
  readonly hosts: InMemoryHosts;
}

/** An installation with the Hosts of these servers only. */
export function installationWithServers(
  numbers: readonly number[],
  words: Partial<HostSpecView> = {},
  name = 'installation-1',
): InstallationHosts {
  const hosts = new InMemoryHosts();
  for (const number of numbers) hosts.add(number, words);
  return { name, hosts };
}

export interface RobotPlatformFixture {
  readonly clock: Clock;
  readonly simulator: RobotSimulator;
  readonly factory: ImageFactorySimulator;
  readonly switchboard: CallInterceptor;
  hosts: InMemoryHosts;
  /** The hardware in rendered machine configurations, in order. */
  readonly rendered: NodeHardware[];
  config: Record<string, unknown>;
  /** The content of the Secret. */
  login: { readonly user: string; readonly password: string };
  /** Secrets of the nodes' cluster, if any. */
  cluster?: SecretsBundle;
  start(other?: InstallationHosts): RobotProviderProcess;
  close(): Promise<void>;
}

/** One run of the provider's process. */
export class RobotProviderProcess extends SimulatedProviderProcess {
  readonly #createFixture: RobotPlatformFixture;
  readonly #other: InstallationHosts | undefined;

  constructor(fixture: RobotPlatformFixture, other?: InstallationHosts) {
    super(fixture.clock);
    this.#createFixture = fixture;
    this.#other = other;
  }

  context(machine: string, facts: Facts): StepContext {
    const { login, factory, rendered, config, clock, cluster } = this.#createFixture;
    const { name: installation, hosts } = this.#other ?? { name: 'installation-1', hosts: this.#createFixture.hosts };
    const talosCredentials = cluster && createTalosCredentials(cluster, clock);
    const { signal } = this.stop;
    const talos = { version: '1.13.9', schematic, factoryUrl: factory.line.url };
    return {
      ...this.ground(machine, facts, { size: 'any', talos }),
      config,
      credentials: {
        username: new SecretString(login.user),
        password: new SecretString(login.password),
        sshPrivateKey: new SecretString(rescueKey.private),
      },
      owner: { installation, provider: 'talos', machine },
      addresses: {
        claim: async () => ({ address: '127.43.7.20', prefix: 24 }),
        release: async () => {},
      },
      hosts: hosts.for(machine),
      machineConfig: async (hardware) => {
        rendered.push(hardware);
        return new SecretString('version: v1alpha1\nmachine:\n  type: controlplane\n');
      },
      maintenance: (address) =>
        openMaintenanceClient({
          address,
          ca: talosCredentials?.ca ?? placeholderBundle.authorities.os.certificate,
          signal,
        }),
      ownNode: (address) => createClusterNodeClient(() => openNode(address, talosCredentials), signal),
    };
  }

  /** Runs steps until the list is finished, a step fails, or `until` holds. `upTo`: the last step. */
  async walk(
    plan: 'provision' | 'release',
    machine: string,
    durable: MachineRecord,
    until: (verdict: AdvanceResult) => boolean = () => false,
    upTo?: string,
  ): Promise<AdvanceResult> {
    const all = hetznerRobot[plan];
    // This platform does not decide whether a configuration is in force.
    const last = all.findIndex(({ name }) => name === upTo);
    const steps = (last < 0 ? all : all.slice(0, last + 1)).filter(({ name }) => name !== 'config-applied');
    return await this.follow({
      ...{ plan, steps, machine, durable, until },
      context: (facts) => this.context(machine, facts),
      pause: (seconds) => Math.max(5, seconds),
    });
  }
}

function openNode(address: string, credentials: TalosCredentials | undefined): TalosClient {
  if (credentials) return openTalosClient({ address, credentials });
  throw new ProviderError('CLUSTER_SECRETS_MISSING', 'This scene has no cluster.');
}

/**
 * Bare servers and an image factory, with a clock of `scale`. The quarter of an hour in which Talos has to answer
 * should be some seconds in real time: a busy machine may pause for one or two.
 */
export async function openRobotPlatformFixture(
  { images, ...seed }: RobotSeedInput & { readonly network: string; readonly images?: object },
  scale = 0.005,
): Promise<RobotPlatformFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'robot-platform-'));
  const [world, switchboard] = [new ScaledClock(scale), new CallInterceptor()];
  const runner = startTalosRunner({ clock: world, switchboard, folder });
  const place = { host: '127.0.0.1', port: 0, folder, clock: world, switchboard, runner };
  const factory = await startImageFactory({ ...place, ...(images ? { seed: images } : {}), extra: {} });
  const simulator = await startRobotSimulator({ ...place, seed, extra: { 'ssh-port': 'any' } });
  const processes: RobotProviderProcess[] = [];
  const { user = '', password = '' } = simulator.line.credentials;
  const fixture: RobotPlatformFixture = {
    ...{ simulator, factory, switchboard, hosts: new InMemoryHosts(), rendered: [], clock: clockAt(scale) },
    config: {
      url: simulator.line.url,
      caBundle: simulator.ca,
      credentialsRef: { name: 'robot' },
      sshPort: Number(simulator.line.credentials['sshPort']),
      sizes: [{ name: 'any', hostSelector: {} }],
    },
    login: { user, password },
    start: (other) => {
      const process = new RobotProviderProcess(fixture, other);
      processes.push(process);
      return process;
    },
    close: async () => {
      for (const process of processes) await process.kill();
      await simulator.close();
      await runner.close();
      await factory.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return fixture;
}

/** The reason and message of a failed step. */
export const describeVerdict = (verdict: AdvanceResult): string =>
  verdict.kind === 'failed' ? `${verdict.reason}: ${verdict.message}` : verdict.kind;

/** The next commands on this server with such a text get a fault, the first `times` of them. */
export function failCommands(
  { switchboard }: RobotPlatformFixture,
  number: number,
  words: RegExp,
  fault: Fault,
  times = 1,
): void {
  let left = times;
  switchboard.judge(({ name, detail }, content) => {
    const isOf = (detail as { server?: number } | undefined)?.server === number && name.startsWith('ssh');
    if (!isOf || !words.test(String(content)) || left === 0) return undefined;
    left -= 1;
    return fault;
  });
}
