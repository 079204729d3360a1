import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Plan, Verdict } from '../../../src/engine/advance.ts';
import type { HostWords } from '../../../src/engine/host.ts';
import type { Facts, NodeHardware, StepContext } from '../../../src/engine/platform.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { hetznerRobot } from '../../../src/platforms/hetzner-robot/index.ts';
import { openTalos, type TalosClient } from '../../../src/talos/api.ts';
import { createTalosCredentials, type TalosCredentials } from '../../../src/talos/credentials.ts';
import { openUnconfigured } from '../../../src/talos/maintenance.ts';
import { ownNode } from '../../../src/talos/own-node.ts';
import type { SecretsBundle } from '../../../src/talos/secrets.ts';
import { standInBundle } from '../../../src/talos/stand-in.ts';
import { type Durable, Life } from '../../support/process-life.ts';
import { WorldClock } from '../clock.ts';
import { type ImageFactoryRoom, startImageFactory } from '../image-factory/index.ts';
import { type RobotRoom, startRobot } from '../robot/index.ts';
import { makeSshKey } from '../robot/ssh-key.ts';
import type { SeedInput } from '../robot/testing.ts';
import { Switchboard } from '../switchboard.ts';
import { talosRunner } from '../talos/index.ts';
import { MemoryHosts } from './memory-hosts.ts';

export type { Durable };

const begun = Date.now();
/** As much faster than life as the world is. */
const clockAt = (scale: number): Clock => ({
  now: () => new Date(begun + (Date.now() - begun) / scale),
  monotonic: () => performance.now() / scale,
  sleep: (ms, signal) => delay(ms * scale, undefined, signal ? { signal } : {}),
});

/** What opens the rescue systems; foreign systems may have the public half, too. */
export const key = makeSshKey();
const schematic = { extensions: [], kernelArguments: [] };

/** Who works with the account, where it is not the one that the scene is about: with Hosts of its own. */
export interface Installation {
  readonly name: string;
  readonly hosts: MemoryHosts;
}

/** One that has the Hosts of these servers alone. */
export function installationOf(
  numbers: readonly number[],
  words: Partial<HostWords> = {},
  name = 'installation-1',
): Installation {
  const hosts = new MemoryHosts();
  for (const number of numbers) hosts.add(number, words);
  return { name, hosts };
}

export interface Scene {
  readonly clock: Clock;
  readonly room: RobotRoom;
  readonly factory: ImageFactoryRoom;
  readonly switchboard: Switchboard;
  hosts: MemoryHosts;
  /** What was put into machine configurations, in order. */
  readonly rendered: NodeHardware[];
  config: Record<string, unknown>;
  /** What the Secret holds. */
  login: { readonly user: string; readonly password: string };
  /** Secrets of the cluster that nodes belong to, where there are any. */
  cluster?: SecretsBundle;
  start(other?: Installation): Process;
  close(): Promise<void>;
}

/** One life of the provider's process. */
export class Process extends Life {
  readonly #scene: Scene;
  readonly #other: Installation | undefined;

  constructor(scene: Scene, other?: Installation) {
    super(scene.clock);
    this.#scene = scene;
    this.#other = other;
  }

  context(machine: string, facts: Facts): StepContext {
    const { login, factory, rendered, config, clock, cluster } = this.#scene;
    const { name: installation, hosts } = this.#other ?? { name: 'installation-1', hosts: this.#scene.hosts };
    const talosCredentials = cluster && createTalosCredentials(cluster, clock);
    const { signal } = this.stop;
    const talos = { version: '1.13.9', schematic, factoryUrl: factory.line.url };
    return {
      ...this.ground(machine, facts, { size: 'any', talos }),
      config,
      credentials: {
        username: new Secret(login.user),
        password: new Secret(login.password),
        sshPrivateKey: new Secret(key.private),
      },
      owner: { installation, provider: 'talos', machine },
      addresses: {
        claim: async () => ({ address: '127.43.7.20', prefix: 24 }),
        release: async () => {},
      },
      hosts: hosts.for(machine),
      machineConfig: async (hardware) => {
        rendered.push(hardware);
        return new Secret('version: v1alpha1\nmachine:\n  type: controlplane\n');
      },
      maintenance: (address) =>
        openUnconfigured({ address, ca: talosCredentials?.ca ?? standInBundle.authorities.os.certificate, signal }),
      ownNode: (address) => ownNode(() => openNode(address, talosCredentials), signal),
    };
  }

  /** Walks until the list is finished or somebody has to change something, or `until` holds. `upTo`: the last step. */
  async walk(
    plan: Exclude<Plan, 'mend'>,
    machine: string,
    durable: Durable,
    until: (verdict: Verdict) => boolean = () => false,
    upTo?: string,
  ): Promise<Verdict> {
    const all = hetznerRobot[plan];
    // Whether a configuration is in force is not this platform's business.
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
  if (credentials) return openTalos({ address, credentials });
  throw new ProviderError('CLUSTER_SECRETS_MISSING', 'This scene has no cluster.');
}

/**
 * Bare servers and an image factory, with a clock of `scale`. The quarter of an hour in which Talos has to answer should be some
 * seconds in real time: a busy machine may stand still for one or two.
 */
export async function openScene(
  { images, ...seed }: SeedInput & { readonly network: string; readonly images?: object },
  scale = 0.005,
): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'robot-platform-'));
  const [world, switchboard] = [new WorldClock(scale), new Switchboard()];
  const runner = talosRunner({ clock: world, switchboard, folder });
  const place = { host: '127.0.0.1', port: 0, folder, clock: world, switchboard, runner };
  const factory = await startImageFactory({ ...place, ...(images ? { seed: images } : {}), extra: {} });
  const room = await startRobot({ ...place, seed, extra: { 'ssh-port': 'any' } });
  const processes: Process[] = [];
  const { user = '', password = '' } = room.line.credentials;
  const scene: Scene = {
    ...{ room, factory, switchboard, hosts: new MemoryHosts(), rendered: [], clock: clockAt(scale) },
    config: {
      url: room.line.url,
      caBundle: room.ca,
      credentialsRef: { name: 'robot' },
      sshPort: Number(room.line.credentials['sshPort']),
      sizes: [{ name: 'any', hostSelector: {} }],
    },
    login: { user, password },
    start: (other) => {
      const process = new Process(scene, other);
      processes.push(process);
      return process;
    },
    close: async () => {
      for (const process of processes) await process.kill();
      await room.close();
      await runner.close();
      await factory.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return scene;
}

/** The reason and sentence of a walk that stopped. */
export const wordsOf = (verdict: Verdict): string =>
  verdict.kind === 'failed' ? `${verdict.reason}: ${verdict.message}` : verdict.kind;
