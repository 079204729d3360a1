import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import { advance, type Progress, type Verdict } from '../../../src/engine/advance.ts';
import { OpenConnections } from '../../../src/engine/connections.ts';
import type { Facts, StepContext } from '../../../src/engine/platform.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { WorldClock } from '../clock.ts';
import { type ImageFactoryRoom, startImageFactory } from '../image-factory/index.ts';
import { type Bench, bench } from '../truenas/testing.ts';

export const clock: Clock = {
  now: () => new Date(Date.UTC(2026, 10, 21) + performance.now() * 50),
  monotonic: () => performance.now() * 50,
  sleep: (ms, signal) => delay(ms / 50, undefined, signal ? { signal } : {}),
};

const schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };
/** What outlives a crash: the record of one Machine and the claims on addresses. */
export interface Durable {
  progress: Progress | undefined;
}

export let room: Bench;
let factory: ImageFactoryRoom;
let factoryUrl: string;
export let claims: Map<string, string>;
export let open: Process[];

/** One life of the provider's process. */
export class Process {
  readonly connections = new OpenConnections();
  readonly stop = new AbortController();

  constructor() {
    open.push(this);
  }

  context(machine: string, facts: Facts, change: object = {}): StepContext {
    return {
      config: { ...config(), ...change },
      credentials: credentials(),
      owner: { installation: 'installation-1', provider: 'talos', machine },
      node: {
        name: machine,
        role: 'controlplane',
        pool: 'cp',
        size: 'small',
        cluster: { namespace: 'shop', name: 'shop' },
        talos: { version: '1.13.9', schematic, factoryUrl },
        labels: {},
      },
      facts,
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
      connections: this.connections,
      machineConfig: async (hardware) => new Secret(`# for ${JSON.stringify(hardware)}\nversion: v1alpha1\n`),
      log: noLog,
      clock,
      signal: this.stop.signal,
    };
  }

  /** Walks until the list is finished or somebody has to change something; what passes by itself is waited for. */
  async walk(plan: 'provision' | 'release', machine: string, durable: Durable, change: object = {}): Promise<Verdict> {
    for (let round = 0; round < 300; round += 1) {
      const verdict = await advance({
        plan,
        steps: truenas[plan],
        progress: durable.progress,
        context: (facts) => this.context(machine, facts, change),
        save: async (progress) => {
          this.stop.signal.throwIfAborted();
          durable.progress = structuredClone(progress);
        },
        clock,
        signal: this.stop.signal,
      });
      if (verdict.kind === 'finished' || verdict.kind === 'failed') return verdict;
      if (verdict.kind === 'error' && !(verdict.error instanceof ProviderError)) throw verdict.error;
      await clock.sleep(Math.min(verdict.seconds, 5) * 1000, this.stop.signal);
    }
    throw new Error(`${machine} does not get through ${durable.progress?.step}`);
  }

  /** As `kill -9` would: sockets end, nothing is written any more. */
  async kill(): Promise<void> {
    this.stop.abort(new Error('killed'));
    await this.connections.close();
  }
}

export const config = () => ({
  url: room.room.line.url,
  credentialsRef: { name: 'nas' },
  caBundle: room.ca,
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
});
export const credentials = () => ({
  username: new Secret(room.room.line.credentials['user'] ?? ''),
  apiKey: new Secret(room.room.line.credentials['apiKey'] ?? ''),
});
export const check = (process: Process, change: object = {}, secrets: object = credentials()) =>
  truenas.check({ ...process.context('none', {}, change), credentials: secrets as ReturnType<typeof credentials> });

export async function start(options: Parameters<typeof bench>[0] = {}): Promise<void> {
  room = await bench(options);
  factory = await startImageFactory({
    host: '127.0.0.1',
    port: 0,
    folder: tmpdir(),
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
export const downloads = () => room.switchboard.calls.filter(({ name }) => /^GET \/image\//.test(name)).length;
export const changing = /^(POST|.*\.(create|update|delete|start|stop|poweroff|resume)$)/;

/** Every test begins with nothing and ends with nothing. */
export function useScene(): void {
  beforeEach(() => {
    claims = new Map();
    open = [];
  });
  afterEach(end);
}
