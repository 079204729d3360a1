import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import type { Plan, Verdict } from '../../../src/engine/advance.ts';
import type { Facts, StepContext } from '../../../src/engine/platform.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { noHosts } from '../../support/no-hosts.ts';
import { type Durable, keyRoom, Life } from '../../support/process-life.ts';
import { WorldClock } from '../clock.ts';
import { type ImageFactoryRoom, startImageFactory } from '../image-factory/index.ts';
import { type Bench, bench } from '../truenas/testing.ts';

export type { Durable };

export const clock: Clock = {
  now: () => new Date(Date.UTC(2026, 10, 21) + performance.now() * 50),
  monotonic: () => performance.now() * 50,
  sleep: (ms, signal) => delay(ms / 50, undefined, signal ? { signal } : {}),
};

const schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };
export let room: Bench;
let factory: ImageFactoryRoom;
export let factoryUrl: string;
/** They outlive a crash, too. */
export let claims = new Map<string, string>();
export let open: Process[] = [];

/** One life of the provider's process. */
export class Process extends Life {
  constructor(time = clock) {
    super(time);
    open.push(this);
  }

  context(machine: string, facts: Facts, change: object = {}): StepContext {
    return {
      ...this.ground(machine, facts, {
        size: 'small',
        talos: { version: '1.13.9', schematic, factoryUrl: site().factoryUrl },
      }),
      config: { ...config(), ...change },
      credentials: credentials(),
      addresses: {
        claim: async () => {
          const address = claims.get(machine) ?? `192.168.10.${20 + claims.size}`;
          claims.set(machine, address);
          return { address, prefix: 24, gateway: '192.168.10.1' };
        },
        release: async () => {
          claims.delete(machine);
        },
      },
      hosts: noHosts,
      machineConfig: async (hardware) => new Secret(`# for ${JSON.stringify(hardware)}\nversion: v1alpha1\n`),
      maintenance: () => {
        throw new Error('a machine that is made with its configuration');
      },
      ownNode: () => {
        throw new Error('a machine that is switched off from outside');
      },
    };
  }

  /** What its platform puts right once its node has become a member of the cluster. */
  async settle(machine: string, durable: Durable): Promise<Verdict> {
    const { finishedAt: _, ...made } = durable.progress!;
    const [first] = truenas.settle;
    durable.progress = { ...made, step: first?.name ?? '', facts: { ...made.facts, joined: true } };
    return await this.follow({
      ...{ plan: 'provision', steps: [...truenas.provision, ...truenas.settle], machine, durable },
      context: (facts) => this.context(machine, facts),
      pause: (seconds) => Math.min(seconds, 5),
    });
  }

  /** Walks until the list is finished, somebody has to change something, or `until` says so. */
  async walk(
    plan: Exclude<Plan, 'mend'>,
    machine: string,
    durable: Durable,
    change: object = {},
    until: (verdict: Verdict) => boolean = () => false,
  ): Promise<Verdict> {
    return await this.follow({
      ...{ plan, steps: truenas[plan], machine, durable },
      context: (facts) => this.context(machine, facts, change),
      pause: (seconds) => Math.min(seconds, 5),
      until,
    });
  }
}

/** Where the system is that machines are made on: in this process, or in another. */
export interface Site {
  readonly url: string;
  readonly ca: string;
  readonly user: string;
  readonly apiKey: string;
  readonly factoryUrl: string;
}
let elsewhere: Site | undefined;

/** Processes that are begun from now on work there; without a site, on the system of this process again. */
export function moveTo(site: Site | undefined): void {
  elsewhere = site;
}
export const siteHere = (): Site => {
  const { url, credentials } = room.room.line;
  return { url, ca: room.ca, user: credentials['user'] ?? '', apiKey: credentials['apiKey'] ?? '', factoryUrl };
};
const site = (): Site => elsewhere ?? siteHere();

export const config = () => ({
  url: site().url,
  credentialsRef: { name: 'nas' },
  caBundle: site().ca,
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
});
export const credentials = () => ({
  username: new Secret(site().user),
  apiKey: new Secret(site().apiKey),
});
export const check = (process: Process, change: object = {}, secrets: object = credentials()) =>
  truenas.check({
    ...process.context('none', {}, change),
    site: undefined,
    credentials: secrets as ReturnType<typeof credentials>,
  });

export async function start({
  images,
  ...options
}: Parameters<typeof bench>[0] & { images?: object } = {}): Promise<void> {
  room = await bench(options);
  factory = await startImageFactory({
    host: '127.0.0.1',
    port: 0,
    folder: tmpdir(),
    seed: images,
    clock: new WorldClock(0.001),
    switchboard: room.switchboard,
    runner: room.runner,
    extra: {},
  });
  factoryUrl = factory.line.url;
}
/** Ends what runs; another start may follow. */
export async function end(): Promise<void> {
  for (const process of open.splice(0)) await process.kill();
  await factory.close();
  await room.close();
}

export const text = (value: unknown) => JSON.stringify(value, null, 1);
export const dump = () => room.room.dump();
/** Everything but the cache of images and the folders around it, which stay on purpose. */
export const withoutCache = () => {
  const all = dump();
  const kept = (id: string) => !/^(\/mnt\/)?tank\/talos(\/images(\/|$)|$)/.test(id);
  return {
    ...all,
    datasets: all.datasets.filter((dataset) => kept((dataset as { id: string }).id)),
    files: all.files.filter((file) => kept((file as { path: string }).path)),
  };
};
/** What exists, without the numbers and dates that differ each time. */
export const shape = () => {
  const state = dump();
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
  [...room.room.nas.vms.values()].find((vm) => String(vm.row['name']).startsWith(machine.replaceAll('-', '_')));
export const downloads = () => room.switchboard.calls.filter(({ name }) => /^GET \/image\/.*\.iso$/.test(name)).length;
export const changing = /^(POST|.*\.(create|update|delete|start|stop|poweroff|resume)$)/;

/** Every test begins with nothing and ends with nothing. */
export function useScene(): void {
  beforeEach(() => {
    claims = new Map();
    keyRoom.secrets.clear();
    keyRoom.calls.length = 0;
    open = [];
  });
  afterEach(end);
}
