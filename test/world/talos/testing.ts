import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { stringify } from 'yaml';
import { buildIso } from '../../../src/lib/iso9660.ts';
import { State } from '../../../src/talos/gen/cosi_pb.ts';
import { MachineService } from '../../../src/talos/gen/machine_pb.ts';
import { WorldClock } from '../clock.ts';
import type { MachineDescription, RunningMachine } from '../machine.ts';
import { Switchboard } from '../switchboard.ts';
import { type TalosRunner, talosRunner } from './index.ts';
import { type Authority, clientAuth, createAuthority, issueLeaf } from './pki.ts';
import { startFactory, type TestFactory } from './testing-factory.ts';

/** A cluster's secrets, made with nothing but this folder's own tools: the simulator is not checked against itself by the product. */
export interface TestSecrets {
  readonly os: TestAuthority;
  readonly kubernetes: TestAuthority;
  readonly etcd: TestAuthority;
  readonly aggregator: TestAuthority;
  readonly serviceAccountKey: string;
}

interface TestAuthority {
  readonly authority: Authority;
  readonly crt: string;
  readonly key: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function authority(subject: string, kind: 'ed25519' | 'p256'): Promise<TestAuthority> {
  const made = await createAuthority(subject, kind);
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', made.key as never)).toString('base64');
  const label = kind === 'ed25519' ? 'ED25519 PRIVATE KEY' : 'PRIVATE KEY';
  const pem = `-----BEGIN ${label}-----\n${pkcs8.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END ${label}-----\n`;
  return { authority: made, crt: base64(made.pem), key: base64(pem) };
}

export async function makeSecrets(): Promise<TestSecrets> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    os: await authority('O=talos', 'ed25519'),
    kubernetes: await authority('O=kubernetes', 'p256'),
    etcd: await authority('O=etcd', 'p256'),
    aggregator: await authority('', 'p256'),
    serviceAccountKey: base64(privateKey.export({ format: 'pem', type: 'pkcs1' }).toString()),
  };
}

export interface ConfigOptions {
  readonly secrets: TestSecrets;
  readonly role: 'controlplane' | 'worker';
  readonly hostname: string;
  readonly mac: string;
  readonly address: string;
  readonly endpoint: string;
  readonly factory: string;
  readonly vip?: string;
  /** Merged into `machine` and `cluster`. */
  readonly machine?: Readonly<Record<string, unknown>>;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly documents?: readonly unknown[];
}

export const schematic = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba';
export const talosVersion = '1.13.9';

/** A machine configuration in the form of Talos 1.13. */
export function makeConfig(options: ConfigOptions): string {
  const { secrets, role } = options;
  const control = role === 'controlplane';
  const pair = (one: TestAuthority, withKey: boolean) => ({ crt: one.crt, key: withKey ? one.key : '' });
  const image = (name: string) => ({ image: `registry.k8s.io/${name}:v1.36.3` });
  const legacy = {
    version: 'v1alpha1',
    machine: {
      type: role,
      token: 'abcdef.0123456789abcdef',
      ca: pair(secrets.os, control),
      certSANs: [],
      kubelet: {
        image: 'ghcr.io/siderolabs/kubelet:v1.36.3',
        extraArgs: { 'provider-id': `world://${options.hostname}` },
      },
      network: {
        interfaces: [
          {
            deviceSelector: { hardwareAddr: options.mac },
            addresses: [`${options.address}/16`],
            ...(options.vip && control ? { vip: { ip: options.vip } } : {}),
          },
        ],
      },
      install: {
        disk: '/dev/vda',
        image: `${options.factory}/nocloud-installer/${schematic}:v${talosVersion}`,
        wipe: false,
      },
      features: { kubePrism: { enabled: true, port: 7445 }, hostDNS: { enabled: true, forwardKubeDNSToHost: true } },
      ...options.machine,
    },
    cluster: {
      id: base64('0123456789abcdef0123456789abcdef'),
      secret: base64('fedcba9876543210fedcba9876543210'),
      clusterName: 'example',
      controlPlane: { endpoint: options.endpoint },
      network: { dnsDomain: 'cluster.local', podSubnets: ['10.244.0.0/16'], serviceSubnets: ['10.96.0.0/12'] },
      token: 'fedcba.fedcba9876543210',
      ca: pair(secrets.kubernetes, control),
      discovery: { enabled: true, registries: { kubernetes: { disabled: true }, service: {} } },
      ...(control
        ? {
            secretboxEncryptionSecret: base64('00112233445566778899aabbccddeeff'),
            aggregatorCA: pair(secrets.aggregator, true),
            serviceAccount: { key: secrets.serviceAccountKey },
            etcd: { ca: pair(secrets.etcd, true) },
            apiServer: image('kube-apiserver'),
            controllerManager: image('kube-controller-manager'),
            scheduler: image('kube-scheduler'),
            proxy: image('kube-proxy'),
          }
        : {}),
      ...options.cluster,
    },
  };
  const hostname = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: options.hostname };
  return [legacy, hostname, ...(options.documents ?? [])].map((document) => stringify(document)).join('---\n');
}

/** A small world of machines for one test file, with a factory and a fast clock. */
export interface TestWorld {
  readonly runner: TalosRunner;
  readonly switchboard: Switchboard;
  readonly clock: WorldClock;
  readonly folder: string;
  /** `host:port` of the factory. */
  readonly factory: TestFactory;
  /** An address that nobody else in this process uses. */
  address(): string;
  /** Makes disk, discs and description; nothing is switched on. */
  machine(
    name: string,
    files?: Readonly<Record<string, string>> | null,
    change?: Partial<MachineDescription>,
  ): MachineDescription;
  start(machine: MachineDescription): RunningMachine;
  close(): Promise<void>;
}

let networks = 0;

export async function startWorld(scale = 0.004): Promise<TestWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'talos-world-'));
  const clock = new WorldClock(scale);
  const switchboard = new Switchboard();
  const factory = await startFactory();
  const runner = talosRunner({ clock, switchboard, folder });
  const network = `127.42.${(process.pid % 100) + 100}`;
  return {
    runner,
    switchboard,
    clock,
    folder,
    factory,
    address: () => {
      networks += 1;
      return `${network}.${networks}`;
    },
    machine: (name, files = {}, change = {}) => makeMachine(folder, name, files, change),
    start: (machine) => runner.start(machine),
    close: async () => {
      await runner.close();
      await factory.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

let machines = 0;

function makeMachine(
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
    writeFileSync(seed, seedDisc(files));
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

/** The MAC that the machine made next will have. */
export const nextMac = (): string => macOf(machines + 1);
const macOf = (index: number): string => `02:00:00:00:00:${index.toString(16).padStart(2, '0')}`;

/** What the image factory of the world puts on a boot disc. */
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

export const seedDisc = (files: Readonly<Record<string, string>>): Buffer =>
  buildIso({
    label: 'cidata',
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
  });

export interface TestClient {
  readonly machine: Client<typeof MachineService>;
  readonly state: Client<typeof State>;
  close(): void;
}

/** A client of the Talos API with a certificate for `organizations`; without secrets it trusts anybody and shows none. */
export async function connect(
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
    close: () => sessionManager.abort(new Error('done')),
  };
}

/** Asks again and again until the answer is not undefined; the last error is told when the time is over. */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  seconds = 20,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      last = error;
    }
    await delay(5);
  }
  throw new Error(`waited ${seconds} s for: ${what}${last ? ` (${String(last)})` : ''}`);
}

/** Puts other files onto the cidata disc of a machine that is off. */
export function rewriteSeed(machine: MachineDescription, files: Readonly<Record<string, string>>): void {
  writeFileSync(machine.cdroms[1]?.path ?? '', seedDisc(files));
}

/** Puts another image onto the boot disc of a machine that is off. */
export function rewriteBootDisc(machine: MachineDescription, change: Readonly<Record<string, unknown>>): void {
  writeFileSync(machine.cdroms[0]?.path ?? '', bootDisc(change));
}
