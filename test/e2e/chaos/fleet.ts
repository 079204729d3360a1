import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Machine } from '../../../src/api/machine.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import { eventually } from '../../support/eventually.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import { vmNameOf } from '../../world/truenas/vm/vm-runtime.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { ControlledProvider } from '../support/provider-process/controlled-provider.ts';
import { emptyLease } from '../support/provider-process/restart-killed.ts';
import { Testbed } from '../support/testbed/testbed.ts';
import { createConfig, keySecretOf, kubernetesVersions, talosVersions } from './fleet-configs.ts';
import { configNames, type FleetLayout, type NasName, nasNames, refOf, serverNumbersOf } from './fleet-layout.ts';

/** How much faster than real time the world and the provider are: an hour takes 72 seconds. */
export const speed = 50;
const subnets = { nodes: '127.43.0', servers: '127.43.1', west: '127.43.2', south: '127.43.3', provider: '127.43.4' };
/** Dates begin this much early, so that they can be moved forward for longer: certificates allow a day. */
const firstHours = -10;

/** Clusters on three NAS and on bare servers, made by one provider in a process of its own. */
export class Fleet {
  readonly layout: FleetLayout;
  readonly testbed: Testbed;
  readonly robot: RobotTestObjects;
  readonly systems: ReadonlyMap<NasName, TrueNasSimulator>;
  readonly provider: ControlledProvider;
  readonly #folder: string;

  private constructor(parts: Pick<Fleet, 'layout' | 'testbed' | 'robot' | 'systems'>, folder: string) {
    this.layout = parts.layout;
    this.testbed = parts.testbed;
    this.robot = parts.robot;
    this.systems = parts.systems;
    this.#folder = folder;
    const { kubeconfig, environment, namespace } = parts.testbed;
    const address = `${subnets.provider}.1`;
    const fixed = { environment, name: 'talos', kubeconfig, namespace, address };
    this.provider = new ControlledProvider({ ...fixed, speed, leaseSeconds: 30, hoursAhead: firstHours });
  }

  /** Starts the world. Nothing is created yet. */
  static async open(layout: FleetLayout): Promise<Fleet> {
    const servers = serverNumbersOf(layout).map((number) => ({ number }));
    const nas = { memoryMiB: 524_288, pools: [{ name: 'tank', sizeBytes: 2 ** 43 }] };
    const limits = { 'POST /reset': 5000 };
    const seeds = {
      truenas: nas,
      robot: { network: subnets.servers, servers, limits },
      'image-factory': { versions: [...talosVersions] },
    };
    const testbed = await Testbed.open({
      ...{ subnet: subnets.nodes, timeScale: 1 / speed, speed, seeds, truenas: '25.10', isPersistent: true },
    });
    // It keeps every version of every object, and a fleet has many.
    await testbed.recorder.stop();
    const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
    const systems = new Map<NasName, TrueNasSimulator>([['east', testbed.world.truenas]]);
    for (const [name, version] of [
      ['west', '25.04.2'],
      ['south', '26'],
    ] as const) {
      const { clock, switchboard, machines: runner } = testbed.world;
      const own = join(folder, name);
      mkdirSync(own);
      const at = { host: `${subnets[name]}.10`, port: 0, folder: own, clock, switchboard, runner };
      systems.set(name, await startTrueNasSimulator({ ...at, extra: { version }, seed: nas }));
    }
    return new Fleet({ layout, testbed, robot: await RobotTestObjects.on(testbed), systems }, folder);
  }

  /** Creates everything and starts the provider. */
  async create(): Promise<void> {
    const { testbed, robot, systems, layout } = this;
    for (const [nas, { line }] of systems) {
      const { user = '', apiKey = '' } = line.credentials;
      await testbed.objects.credentials(keySecretOf(nas), { username: user, apiKey });
    }
    await robot.credentials();
    for (const name of configNames.filter((one) => layout.clusters.some(({ config }) => config === one)))
      await createConfig(name, this, Math.ceil(layout.clusters.length / 5));
    for (const number of serverNumbersOf(layout)) await robot.host(number);
    this.provider.start();
    for (const cluster of layout.clusters) {
      const kubernetes = { version: kubernetesVersions[0] };
      await testbed.objects.cluster(refOf(cluster), { config: cluster.config, kubernetes });
    }
  }

  machines(cluster?: string): Promise<Machine[]> {
    return this.testbed.objects.machines(cluster === undefined ? undefined : refOf({ name: cluster }));
  }

  async pools(): Promise<NodePool[]> {
    return (await this.testbed.platform.list(NodePool)).items;
  }

  async poolOf(cluster: string): Promise<NodePool> {
    const found = (await this.pools()).find(({ spec }) => spec.clusterRef.name === cluster);
    if (!found) throw new Error(`there is no NodePool of ${cluster}`);
    return found;
  }

  nas(name: NasName): TrueNasSimulator {
    return this.systems.get(name) as TrueNasSimulator;
  }

  /** The virtual machine of a Machine, with its NAS. */
  vmOf(machine: string): { readonly nas: TrueNasSimulator; readonly name: string } | undefined {
    for (const nas of this.systems.values()) {
      const vm = [...nas.nas.vms.values()].find((one) => ownerOf(vmNameOf(one)) === machine);
      if (vm) return { nas, name: vmNameOf(vm) };
    }
    return undefined;
  }

  /** The simulated Talos of a Machine, while it runs. */
  nodeOf(machine: string) {
    const isIt = ({ hostname, stage }: { hostname: string; stage: string }) => hostname === machine && stage !== 'off';
    return this.testbed.world.machines.nodes().find(isIt);
  }

  /** Lets time of the world pass. */
  async minutes(count: number): Promise<void> {
    await pause((count * 60_000) / speed);
  }

  /** Lets minutes pass for the dates of the provider, too. */
  async advanceDates(count: number): Promise<void> {
    await this.provider.setClock(this.provider.hoursAhead + count / 60);
  }

  /** Ends the provider, as SIGTERM or as `kill -9` does, and starts another, which must have begun to work. */
  async replaceProvider(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await (signal === 'SIGTERM' ? this.provider.stop() : this.provider.kill());
    await emptyLease(this.testbed);
    this.provider.start();
    await this.until('the provider leads', () => this.provider.isLeading);
    await this.minutes(5);
  }

  /** Polls, for a time of the world. */
  async until(what: string, look: () => Promise<boolean> | boolean, minutes = 60): Promise<void> {
    await eventually(what, look, (minutes * 60) / speed);
  }

  async close(): Promise<void> {
    await this.provider.stop();
    for (const name of nasNames) if (name !== 'east') await this.nas(name).close();
    await this.testbed.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The Machine that a virtual machine or dataset is named after. */
export const ownerOf = (name: string): string => name.replace(/_[a-z2-7]{8}$/, '').replaceAll('_', '-');
