import { randomUUID } from 'node:crypto';
import type { PassThrough } from 'node:stream';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { MachineRunner, RunningMachine } from '../machine-runner/machine.ts';
import type { DhcpServer } from '../network/dhcp-server.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import type { JobQueue } from './middleware/job-queue.ts';
import type { Entry } from './middleware/query.ts';
import type { CollectionEvents } from './protocol/collection-events.ts';
import type { TrueNasRelease } from './versions.ts';

/**
 * DEGRADED works. OFFLINE: the pool was not found when the system started, and its content is missing. Every other
 * state refuses writes.
 */
export type PoolStatus = 'ONLINE' | 'DEGRADED' | 'FAULTED' | 'OFFLINE' | 'UNAVAIL' | 'REMOVED' | 'SUSPENDED';

/** A pool: raw size, and the bytes of other writers. */
export interface NasPool {
  readonly id: number;
  readonly name: string;
  readonly guid: string;
  readonly sizeBytes: number;
  /** Bytes that no dataset owns; a test fills a pool with them. */
  ballastBytes: number;
  status: PoolStatus;
}

/**
 * A filesystem or a zvol. Properties have ZFS's own names and raw values. Only local ones are stored; the others are
 * inherited.
 */
export interface NasDataset {
  readonly id: string;
  readonly type: 'FILESYSTEM' | 'VOLUME';
  readonly properties: Map<string, string>;
  /** Keys with a colon. Children inherit them, as in ZFS. */
  readonly userProperties: Map<string, string>;
  readonly createdAt: Date;
  encryption: { readonly algorithm: string; readonly format: string; readonly secret: string; loaded: boolean } | null;
}

/** Fields of `stat` that the real file does not have. */
export interface FileMode {
  mode: number;
  uid: number;
  gid: number;
}

/** A row of the table of machines, and its guest. */
export interface NasVm {
  readonly id: number;
  /** All columns of the table, in API names. */
  row: Entry;
  /** The running guest; undefined when off. */
  guest: RunningGuest | undefined;
  /** Why the last boot cannot succeed, if the machine has been switched off since. */
  lastStuck: string | undefined;
}

/** A running machine. */
export interface RunningGuest {
  readonly machine: RunningMachine;
  readonly pid: number;
  suspended: boolean;
  /** The description that the runner got. */
  readonly memoryMiB: number;
  /** Real local files that are open. */
  readonly paths: readonly string[];
}

/** A row of the table of devices. */
export interface NasDevice {
  readonly id: number;
  vm: number;
  /** As stored: null is shown as a default that depends on the type. */
  order: number | null;
  attributes: Entry;
}

/** A network interface of the NAS. */
export interface NasInterface {
  readonly name: string;
  readonly type: 'PHYSICAL' | 'BRIDGE' | 'VLAN' | 'LINK_AGGREGATION';
  readonly description: string;
  readonly address: string | null;
  readonly members: readonly string[];
  readonly mtu: number;
  up: boolean;
}

/** An account. */
export interface NasUser {
  readonly name: string;
  readonly roles: readonly string[];
}

/** An API key of an account. */
export interface ApiKey {
  readonly id: number;
  readonly user: string;
  /** As issued: `<id>-<64 characters>`. */
  readonly key: string;
  expiresAt: Date | null;
  revokedReason: string | null;
}

/** A token of `auth.generate_token`. */
export interface AuthToken {
  readonly token: string;
  readonly user: string;
  readonly attributes: Entry;
  readonly singleUse: boolean;
  readonly ttlSeconds: number;
  lastUsed: number;
}

/** The whole simulated system. State that survives a reboot is here; connections are not. */
export interface NasState {
  /** Changes with an update. */
  version: TrueNasRelease;
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  readonly runner: MachineRunner;
  /** Parent folder of everything on disk: `root` (files), `zvol`, `log`. */
  readonly folder: string;
  /** Ends every wait when the simulator closes. */
  readonly signal: AbortSignal;
  readonly hostname: string;
  readonly memoryMiB: number;
  readonly cores: number;
  /** Machine types for guests, by architecture. */
  readonly guestMachines: Readonly<Record<string, readonly string[]>>;
  /** Without hardware virtualization every VM has the state ERROR. */
  readonly hasKvm: boolean;
  readonly pools: Map<string, NasPool>;
  readonly datasets: Map<string, NasDataset>;
  readonly fileMarks: Map<string, FileMode>;
  readonly vms: Map<number, NasVm>;
  readonly devices: Map<number, NasDevice>;
  readonly links: Map<string, NasInterface>;
  /** By interface: the DHCP server in the network behind it. It is not part of the NAS and survives its reboot. */
  readonly dhcp: ReadonlyMap<string, DhcpServer>;
  readonly users: NasUser[];
  readonly keys: ApiKey[];
  readonly tokens: Map<string, AuthToken>;
  /** Hash of the server certificate (RFC 5929, tls-server-end-point). */
  readonly endPoint: Buffer;
  readonly nextId: { vm: number; device: number; pid: number; transaction: number };
  /** Real milliseconds that each call of a method takes; `*` is every other method. */
  readonly latencies: Map<string, number>;
  /** Pending downloads of jobs, by job number. */
  readonly downloads: Map<number, PassThrough>;
  readonly jobs: JobQueue;
  readonly events: CollectionEvents;
  /** The reported state of the system: it also answers while it shuts down. */
  state: 'BOOTING' | 'READY' | 'SHUTTING_DOWN';
  bootId: string;
  bootedAt: Date;
}

/** Changes with each start of the host. */
export const newBootId = (): string => randomUUID();

/** The simulator's name at the interceptor. */
export const trueNasSimulatorName = 'truenas';

/** Simulated milliseconds since `then`. */
export function elapsedWorldMilliseconds(nas: NasState, then: number): number {
  return (performance.now() - then) / Math.max(nas.clock.scale, 1e-9);
}

/** Waits in simulated time, at most until the simulator closes or `signal` aborts. */
export async function sleepInWorldTime(nas: NasState, seconds: number, signal = nas.signal): Promise<void> {
  await nas.clock.sleep(seconds, signal);
}

/** A date in wire format. */
export const toExtendedJsonDate = (date: Date | null): { $date: number } | null =>
  date ? { $date: date.getTime() } : null;
