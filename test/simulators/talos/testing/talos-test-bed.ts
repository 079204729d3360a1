import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { buildIso } from '../../../../src/lib/iso9660.ts';
import { State } from '../../../../src/talos/gen/cosi_pb.ts';
import { ImageService } from '../../../../src/talos/gen/image_pb.ts';
import { LifecycleService } from '../../../../src/talos/gen/lifecycle_pb.ts';
import { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { CallInterceptor } from '../../../world/faults/call-interceptor.ts';
import type { MachineDescription, RunningMachine } from '../../../world/machine-runner/machine.ts';
import { testNetworkPrefix } from '../../../world/network/test-network.ts';
import { ScaledClock } from '../../../world/scaled-clock.ts';
import { clientAuth, issueLeaf } from '../../../world/talos/certificates/pki.ts';
import { startTalosRunner, type TalosRunner } from '../../../world/talos/index.ts';
import type { WorkloadBackend } from '../../../world/talos/workload/workload.ts';
import { schematic, type TestSecrets, talosVersion } from './test-config.ts';
import { startTestFactory, type TestFactory } from './test-factory.ts';

/** A clock that stands still until a test advances it: short phases can be observed at any speed of the machine. */
export class SteppedClock extends ScaledClock {
  #elapsed = 0;
  #waits = 0;
  readonly #sleepers = new Set<{ readonly due: number; wake(): void }>();

  override sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const sleeper = {
        due: this.#elapsed + seconds,
        wake: () => {
          signal?.removeEventListener('abort', stop);
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#waits += 1;
      this.#sleepers.add(sleeper);
    });
  }

  /** The number of waits so far. A check during which this changed saw an older state. */
  get waits(): number {
    return this.#waits;
  }

  /** Advances to the next time at which a wait ends. */
  step(): void {
    const next = Math.min(...[...this.#sleepers].map((sleeper) => sleeper.due));
    if (next === Number.POSITIVE_INFINITY) return;
    this.#elapsed = next;
    for (const sleeper of [...this.#sleepers]) if (sleeper.due <= next) sleeper.wake();
  }
}

/** Machines for one test file, with an image factory and a fast clock. */
export interface TalosTestBed {
  readonly runner: TalosRunner;
  readonly switchboard: CallInterceptor;
  readonly clock: ScaledClock;
  readonly folder: string;
  /** `host:port` of the factory. */
  readonly factory: TestFactory;
  /** An address that is unique in this process. */
  address(): string;
  /** The next result of `address`. */
  nextAddress(): string;
  /** Creates disk, discs and description; nothing is switched on. */
  machine(
    name: string,
    files?: Readonly<Record<string, string>> | null,
    change?: Partial<MachineDescription>,
  ): MachineDescription;
  start(machine: MachineDescription): RunningMachine;
  /** Polls until the answer is neither undefined nor false, and advances a stepped clock in between. */
  until<T>(what: string, look: () => T | Promise<T>, seconds?: number): Promise<Exclude<T, undefined | false>>;
  /** Waits for a call, and advances a stepped clock until it is over. */
  during<T>(call: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

let networks = 0;

export async function startTalosTestBed(
  scale: number | 'stepped' = 0.004,
  options: { readonly workload?: (folder: string) => WorkloadBackend; readonly switchboard?: CallInterceptor } = {},
): Promise<TalosTestBed> {
  const folder = mkdtempSync(join(tmpdir(), 'talos-world-'));
  const clock = scale === 'stepped' ? new SteppedClock() : new ScaledClock(scale);
  const stepped = clock instanceof SteppedClock ? clock : undefined;
  const { workload, switchboard = new CallInterceptor() } = options;
  const factory = await startTestFactory();
  const given = workload ? { workload: workload(join(folder, 'workload')) } : {};
  const runner = startTalosRunner({ clock, switchboard, folder, ...given });
  return {
    runner,
    switchboard,
    clock,
    folder,
    factory,
    nextAddress: () => `${testNetworkPrefix}.${networks + 1}`,
    address: () => {
      networks += 1;
      return `${testNetworkPrefix}.${networks}`;
    },
    machine: (name, files = {}, change = {}) => makeMachine(folder, name, files, change),
    start: (machine) => runner.start(machine),
    until: (what, look, seconds) => waitUntilDefined(what, look, seconds, stepped),
    during: async (call) => {
      const { length } = switchboard.calls;
      let over = false;
      const watched = call.finally(() => {
        over = true;
      });
      watched.catch(() => {});
      await waitUntilDefined('the call to arrive', () => over || switchboard.calls.length > length);
      await waitUntilDefined('the call to be over', () => over, 20, stepped);
      return watched;
    },
    close: async () => {
      await runner.close();
      await factory.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let machines = 0;

export function makeMachine(
  folder: string,
  name: string,
  files: Readonly<Record<string, string>> | null,
  change: Partial<MachineDescription>,
): MachineDescription {
  machines += 1;
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const disk = join(home, 'disk.raw');
  writeFileSync(disk, '');
  truncateSync(disk, 10 * 2 ** 30);
  const iso = join(home, 'talos.iso');
  writeFileSync(iso, bootDisc());
  const cdroms = [{ path: iso, order: 1001 }];
  if (files) {
    const seed = join(home, 'cidata.iso');
    writeFileSync(seed, cidataDisc(files));
    cdroms.push({ path: seed, order: 1002 });
  }
  return {
    name,
    uuid: `00000000-0000-4000-8000-${String(machines).padStart(12, '0')}`,
    vcpus: 2,
    memoryMiB: 4096,
    firmware: 'uefi',
    cpuModel: 'host',
    disks: [{ path: disk, sizeBytes: 10 * 2 ** 30, serial: 'disk0', order: 1000, bus: 'virtio' }],
    cdroms,
    nics: [{ mac: macOf(machines), bridge: 'br0', model: 'virtio' }],
    serialLog: join(home, 'serial.log'),
    ...change,
  };
}

/** The MAC of the next machine. */
export const nextMac = (): string => macOf(machines + 1);
const macOf = (index: number): string => `02:00:00:00:00:${index.toString(16).padStart(2, '0')}`;

/** The boot disc of the simulated image factory. */
export const bootDisc = (change: Readonly<Record<string, unknown>> = {}): Buffer =>
  buildIso({
    label: 'TALOS_V1_13_9',
    files: {
      'world.json': Buffer.from(
        JSON.stringify({
          platform: 'nocloud',
          arch: 'amd64',
          version: talosVersion,
          schematic,
          kernelArguments: [],
          extensions: [],
          ...change,
        }),
      ),
    },
  });

/** Large enough for the probing of Talos 1.12, unless a test needs a small one. */
export const cidataDisc = (files: Readonly<Record<string, string>>, leastBytes = 128 * 1024): Buffer =>
  buildIso({
    label: 'cidata',
    minBytes: leastBytes,
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
  });

export interface TestClient {
  readonly machine: Client<typeof MachineService>;
  readonly state: Client<typeof State>;
  readonly images: Client<typeof ImageService>;
  readonly lifecycle: Client<typeof LifecycleService>;
  close(): void;
}

/**
 * A client of the Talos API with a certificate for `organizations`; without secrets it verifies no server and has no
 * certificate.
 */
export async function connectTalos(
  address: string,
  secrets?: TestSecrets,
  organizations: readonly string[] = ['os:admin'],
  usages: readonly string[] = [clientAuth],
): Promise<TestClient> {
  const leaf = secrets && (await issueLeaf(secrets.os.authority, { organizations, usages, hours: 1 }));
  const tls = leaf ? { ca: secrets.os.authority.pem, cert: leaf.cert, key: leaf.key } : { rejectUnauthorized: false };
  const baseUrl = `https://${address}:50000`;
  const sessionManager = new Http2SessionManager(baseUrl, {}, tls);
  const transport = createGrpcTransport({ baseUrl, sessionManager, defaultTimeoutMs: 20_000 });
  return {
    machine: createClient(MachineService, transport),
    state: createClient(State, transport),
    images: createClient(ImageService, transport),
    lifecycle: createClient(LifecycleService, transport),
    close: () => sessionManager.abort(new Error('done')),
  };
}

/** Real milliseconds for sockets and keys between two polls. */
const pauseMilliseconds = 4;

/**
 * Polls until the answer is neither undefined nor false; the timeout reports the last error. A stepped clock advances
 * between two polls, but not past a time that was added during a poll.
 */
export async function waitUntilDefined<T>(
  what: string,
  look: () => T | Promise<T>,
  seconds = 20,
  stepped?: SteppedClock,
): Promise<Exclude<T, undefined | false>> {
  const end = Date.now() + seconds * 1000;
  let last: unknown;
  while (Date.now() < end) {
    const waits = stepped?.waits;
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    } catch (error) {
      last = error;
    }
    if (stepped?.waits === waits) stepped?.step();
    await delay(pauseMilliseconds);
  }
  throw new Error(`waited ${seconds} s for: ${what}${last ? ` (${String(last)})` : ''}`);
}

/** Replaces the files of the cidata disc of a machine that is off. */
export function rewriteCidata(machine: MachineDescription, files: Readonly<Record<string, string>>): void {
  writeFileSync(machine.cdroms[1]?.path ?? '', cidataDisc(files));
}

/** Replaces the image on the boot disc of a machine that is off. */
export function rewriteBootDisc(machine: MachineDescription, change: Readonly<Record<string, unknown>>): void {
  writeFileSync(machine.cdroms[0]?.path ?? '', bootDisc(change));
}

export { type ConfigOptions, makeConfig, makeSecrets, type TestSecrets } from './test-config.ts';
