import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import type { AdvanceResult } from '../../../src/engine/advance.ts';
import type { StepContext } from '../../../src/engine/contexts.ts';
import type { Facts } from '../../../src/engine/step.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { startTrueNasFixture, type TrueNasFixture } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { noHosts } from '../../support/fixtures/no-hosts.ts';
import {
  diskKeyStore,
  type MachineRecord,
  SimulatedProviderProcess,
} from '../../support/harness/simulated-provider-process.ts';
import { type ImageFactorySimulator, startImageFactory } from '../../world/image-factory/index.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';

export type { MachineRecord };

export const fixtureClock: Clock = {
  now: () => new Date(Date.UTC(2026, 10, 21) + performance.now() * 50),
  monotonic: () => performance.now() * 50,
  sleep: (ms, signal) => delay(ms / 50, undefined, signal ? { signal } : {}),
};

const schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };
export let nasFixture: TrueNasFixture;
let factory: ImageFactorySimulator;
export let factoryUrl: string;
/** Address claims, which survive a crash. */
export let addressClaims = new Map<string, string>();
export let openProcesses: TrueNasProviderProcess[] = [];

/** One run of the provider's process. */
export class TrueNasProviderProcess extends SimulatedProviderProcess {
  constructor(time = fixtureClock) {
    super(time);
    openProcesses.push(this);
  }

  context(machine: string, facts: Facts, change: object = {}): StepContext {
    return {
      ...this.ground(machine, facts, {
        size: 'small',
        talos: { version: '1.13.9', schematic, factoryUrl: currentNas().factoryUrl },
      }),
      config: { ...platformConfig(), ...change },
      credentials: platformCredentials(),
      addresses: {
        claim: async () => {
          const address = addressClaims.get(machine) ?? `192.168.10.${20 + addressClaims.size}`;
          addressClaims.set(machine, address);
          return { address, prefix: 24, gateway: '192.168.10.1' };
        },
        release: async () => {
          addressClaims.delete(machine);
        },
      },
      hosts: noHosts,
      machineConfig: async (hardware) => new SecretString(`# for ${JSON.stringify(hardware)}\nversion: v1alpha1\n`),
      maintenance: () => {
        throw new Error('a machine that is made with its configuration');
      },
      ownNode: () => {
        throw new Error('a machine that is switched off from outside');
      },
    };
  }

  /** Runs the post-join steps of its platform. */
  async settle(machine: string, durable: MachineRecord): Promise<AdvanceResult> {
    const { finishedAt: _, ...made } = durable.progress!;
    const [first] = truenas.postJoin;
    durable.progress = { ...made, step: first?.name ?? '', facts: { ...made.facts, joined: true } };
    return await this.follow({
      ...{ plan: 'provision', steps: [...truenas.provision, ...truenas.postJoin], machine, durable },
      context: (facts) => this.context(machine, facts),
      pause: (seconds) => Math.min(seconds, 5),
    });
  }

  /** Runs steps until the list is finished, a step fails, or `until` returns true. */
  async walk(
    plan: 'provision' | 'release',
    machine: string,
    durable: MachineRecord,
    change: object = {},
    until: (verdict: AdvanceResult) => boolean = () => false,
  ): Promise<AdvanceResult> {
    return await this.follow({
      ...{ plan, steps: truenas[plan], machine, durable },
      context: (facts) => this.context(machine, facts, change),
      pause: (seconds) => Math.min(seconds, 5),
      until,
    });
  }
}

/** The location of the system with the machines: in this process, or in another. */
export interface NasLocation {
  readonly url: string;
  readonly ca: string;
  readonly user: string;
  readonly apiKey: string;
  readonly factoryUrl: string;
}
let remoteNas: NasLocation | undefined;

/** Later processes use that location; without one, the system of this process again. */
export function useNas(failureDomain: NasLocation | undefined): void {
  remoteNas = failureDomain;
}
export const localNas = (): NasLocation => {
  const { url, credentials } = nasFixture.simulator.line;
  return { url, ca: nasFixture.ca, user: credentials['user'] ?? '', apiKey: credentials['apiKey'] ?? '', factoryUrl };
};
const currentNas = (): NasLocation => remoteNas ?? localNas();

export const platformConfig = () => ({
  url: currentNas().url,
  credentialsRef: { name: 'nas' },
  caBundle: currentNas().ca,
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
});
export const platformCredentials = () => ({
  username: new SecretString(currentNas().user),
  apiKey: new SecretString(currentNas().apiKey),
});
export const checkPlatformConfig = (
  process: TrueNasProviderProcess,
  change: object = {},
  secrets: object = platformCredentials(),
) =>
  truenas.check({
    ...process.context('none', {}, change),
    failureDomain: undefined,
    credentials: secrets as ReturnType<typeof platformCredentials>,
  });

export async function startTrueNasPlatformFixture({
  images,
  ...options
}: Parameters<typeof startTrueNasFixture>[0] & { images?: object } = {}): Promise<void> {
  nasFixture = await startTrueNasFixture(options);
  factory = await startImageFactory({
    host: '127.0.0.1',
    port: 0,
    folder: tmpdir(),
    seed: images,
    clock: new ScaledClock(0.001),
    switchboard: nasFixture.switchboard,
    runner: nasFixture.runner,
    extra: {},
  });
  factoryUrl = factory.line.url;
}
/** Stops the running system; another start may follow. */
export async function stopTrueNasPlatformFixture(): Promise<void> {
  for (const process of openProcesses.splice(0)) await process.kill();
  await factory.close();
  await nasFixture.close();
}

export const toJsonText = (value: unknown) => JSON.stringify(value, null, 1);
export const dumpNas = () => nasFixture.simulator.dump();
/** Everything but the cache of images and its folders, which stay on purpose. */
export const dumpWithoutImageCache = () => {
  const all = dumpNas();
  const kept = (id: string) => !/^(\/mnt\/)?tank\/talos(\/images(\/|$)|$)/.test(id);
  return {
    ...all,
    datasets: all.datasets.filter((dataset) => kept((dataset as { id: string }).id)),
    files: all.files.filter((file) => kept((file as { path: string }).path)),
  };
};
/** The existing objects, without ids and dates that differ each time. */
export const stateSummary = () => {
  const state = dumpNas();
  return {
    datasets: state.datasets.map((one) => (one as { id: string }).id),
    files: state.files.flatMap((one) => ('size' in one ? [(one as unknown as { path: string }).path] : [])),
    vms: state.vms.map(
      (one) => (one as { name?: string; row?: { name: string } }).row?.name ?? (one as { name: string }).name,
    ),
    devices: state.devices.length,
  };
};
export const vmOf = (machine: string) =>
  [...nasFixture.simulator.nas.vms.values()].find((vm) =>
    String(vm.row['name']).startsWith(machine.replaceAll('-', '_')),
  );
export const imageDownloadCount = () =>
  nasFixture.switchboard.calls.filter(({ name }) => /^GET \/image\/.*\.iso$/.test(name)).length;
export const changingCallPattern = /^(POST|.*\.(create|update|delete|start|stop|poweroff|resume)$)/;

/** Every test begins and ends with an empty system. */
export function useTrueNasPlatformFixture(): void {
  beforeEach(() => {
    addressClaims = new Map();
    diskKeyStore.secrets.clear();
    diskKeyStore.calls.length = 0;
    openProcesses = [];
  });
  afterEach(stopTrueNasPlatformFixture);
}
