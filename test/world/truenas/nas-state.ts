import { randomUUID } from 'node:crypto';
import type { PassThrough } from 'node:stream';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { MachineRunner, RunningMachine } from '../machine-runner/machine.ts';
import type { DhcpServer } from '../network/dhcp-server.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import type { JobQueue } from './middleware/job-queue.ts';
import type { Entry } from './middleware/query.ts';
import type { CollectionEvents } from './protocol/collection-events.ts';
import type { ArcState } from './system/memory-budget.ts';
import type { TrueNasRelease } from './versions.ts';

/**
 * DEGRADED works. OFFLINE: it was not found when the system started, and nothing in it is there. In any other state nothing
 * can be written.
 */
export type PoolStatus = 'ONLINE' | 'DEGRADED' | 'FAULTED' | 'OFFLINE' | 'UNAVAIL' | 'REMOVED' | 'SUSPENDED';

/** A pool: raw size, and what somebody else wrote into it. */
export interface NasPool {
  readonly id: number;
  readonly name: string;
  readonly guid: string;
  readonly sizeBytes: number;
  readonly isDraid: boolean;
  /** Bytes taken by nobody in particular: how a test fills a pool. */
  ballastBytes: number;
  status: PoolStatus;
}

/** A filesystem or a zvol. Properties are ZFS's own names and raw values, only those set here; the rest is inherited. */
export interface NasDataset {
  readonly id: string;
  readonly type: 'FILESYSTEM' | 'VOLUME';
  readonly properties: Map<string, string>;
  /** Keys with a colon. They are inherited by children, as in ZFS. */
  readonly userProperties: Map<string, string>;
  readonly createdAt: Date;
  /** The snapshot that it is a clone of. */
  readonly origin: string | null;
  encryption: { readonly algorithm: string; readonly format: string; readonly secret: string; loaded: boolean } | null;
}

/** A dataset as it was. */
export interface NasSnapshot {
  /** `<dataset>@<name>`. */
  readonly id: string;
  readonly dataset: string;
  readonly name: string;
  readonly type: NasDataset['type'];
  /** Grows from snapshot to snapshot. */
  readonly transaction: number;
  readonly createdAt: Date;
  readonly properties: ReadonlyMap<string, string>;
  isHeld: boolean;
}

/** What `stat` shows of a file beside what the real file says. */
export interface FileMode {
  mode: number;
  uid: number;
  gid: number;
}

/** A row of the table of machines, and what runs of it. */
export interface NasVm {
  readonly id: number;
  /** All columns of the table, in API names. */
  row: Entry;
  /** The running guest; undefined when off. */
  guest: RunningGuest | undefined;
  /** What kept the last boot from coming to anything, if the machine has been switched off since. */
  lastStuck: string | undefined;
}

/** A machine that is switched on. */
export interface RunningGuest {
  readonly machine: RunningMachine;
  readonly pid: number;
  suspended: boolean;
  /** What was handed to the runner. */
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

/** An address that the NAS itself has met. */
export interface ArpNeighbour {
  readonly ip: string;
  readonly mac: string;
  readonly interface: string;
}

/** An account. */
export interface NasUser {
  readonly name: string;
  readonly password: string | null;
  readonly roles: readonly string[];
  readonly twoFactor: boolean;
}

/** A key of an account. */
export interface ApiKey {
  readonly id: number;
  readonly user: string;
  /** As given out: `<id>-<64 characters>`. */
  readonly key: string;
  expiresAt: Date | null;
  revokedReason: string | null;
}

/** What `auth.generate_token` gave out. */
export interface AuthToken {
  readonly token: string;
  readonly user: string;
  readonly attributes: Entry;
  readonly singleUse: boolean;
  readonly ttlSeconds: number;
  lastUsed: number;
}

/** The whole simulated system. What outlives a reboot is here; connections are not. */
export interface NasState {
  /** Another one after an update. */
  version: TrueNasRelease;
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  readonly runner: MachineRunner;
  /** Everything on disk lies below: `root` (files), `zvol`, `log`. */
  readonly folder: string;
  /** Ends every wait when the room closes. */
  readonly signal: AbortSignal;
  readonly hostname: string;
  readonly memoryMiB: number;
  /** The cache of ZFS, which takes memory and gives it back. */
  readonly arc: ArcState;
  readonly cores: number;
  /** Machine types that guests can have, by architecture. */
  readonly guestMachines: Readonly<Record<string, readonly string[]>>;
  /** Without hardware virtualization every VM has the state ERROR. */
  readonly hasKvm: boolean;
  readonly pools: Map<string, NasPool>;
  readonly datasets: Map<string, NasDataset>;
  readonly snapshots: Map<string, NasSnapshot>;
  readonly fileMarks: Map<string, FileMode>;
  readonly vms: Map<number, NasVm>;
  readonly devices: Map<number, NasDevice>;
  readonly links: Map<string, NasInterface>;
  /** By interface: who hands out addresses in the network behind it. It is no part of the NAS, and keeps what it knows. */
  readonly dhcp: ReadonlyMap<string, DhcpServer>;
  /** Who answers on the networks of the NAS. */
  readonly neighbours: ArpNeighbour[];
  readonly users: NasUser[];
  readonly keys: ApiKey[];
  readonly tokens: Map<string, AuthToken>;
  /** Hash of the certificate that clients see (RFC 5929, tls-server-end-point). */
  readonly endPoint: Buffer;
  /** Addresses of the other controller, when this one is not the active one: then nobody logs in here. */
  activeController: readonly string[];
  /** Addresses and networks that may use the WebSocket; empty: all. */
  allowed: readonly string[];
  readonly nextId: { vm: number; device: number; pid: number; transaction: number };
  /** How many milliseconds each call of a method takes, real ones; `*` is every other method. */
  readonly latencies: Map<string, number>;
  /** What jobs write, by their number, until somebody comes for it. */
  readonly downloads: Map<number, PassThrough>;
  readonly jobs: JobQueue;
  readonly events: CollectionEvents;
  /** What the system says of itself: it answers while it goes down, too. */
  state: 'BOOTING' | 'READY' | 'SHUTTING_DOWN';
  bootId: string;
  bootedAt: Date;
}

/** Another one at each start of the host. */
export const newBootId = (): string => randomUUID();

/** The room's name at the switchboard. */
export const trueNasSimulatorName = 'truenas';

/** Milliseconds of the world's time since `then`. */
export function elapsedWorldMilliseconds(nas: NasState, then: number): number {
  return (performance.now() - then) / Math.max(nas.clock.scale, 1e-9);
}

/** Waits in the world's time, and no longer than the room lives or `signal` allows. */
export async function sleepInWorldTime(nas: NasState, seconds: number, signal = nas.signal): Promise<void> {
  await nas.clock.sleep(seconds, signal);
}

/** The wire form of a date. */
export const toExtendedJsonDate = (date: Date | null): { $date: number } | null =>
  date ? { $date: date.getTime() } : null;
