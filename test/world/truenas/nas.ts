import { randomUUID } from 'node:crypto';
import type { PassThrough } from 'node:stream';
import type { WorldClock } from '../clock.ts';
import type { DhcpServer } from '../dhcp-server.ts';
import type { MachineRunner, RunningMachine } from '../machine.ts';
import type { Switchboard } from '../switchboard.ts';
import type { Events } from './events.ts';
import type { Jobs } from './jobs.ts';
import type { Arc } from './memory-room.ts';
import type { Entry } from './query.ts';
import type { Version } from './versions.ts';

/**
 * DEGRADED works. OFFLINE: it was not found when the system started, and nothing in it is there. In any other state nothing
 * can be written.
 */
export type PoolStatus = 'ONLINE' | 'DEGRADED' | 'FAULTED' | 'OFFLINE' | 'UNAVAIL' | 'REMOVED' | 'SUSPENDED';

/** A pool: raw size, and what somebody else wrote into it. */
export interface Pool {
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
export interface Dataset {
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
export interface Snapshot {
  /** `<dataset>@<name>`. */
  readonly id: string;
  readonly dataset: string;
  readonly name: string;
  readonly type: Dataset['type'];
  /** Grows from snapshot to snapshot. */
  readonly transaction: number;
  readonly createdAt: Date;
  readonly properties: ReadonlyMap<string, string>;
  isHeld: boolean;
}

/** What `stat` shows of a file beside what the real file says. */
export interface FileMark {
  mode: number;
  uid: number;
  gid: number;
}

/** A row of the table of machines, and what runs of it. */
export interface Vm {
  readonly id: number;
  /** All columns of the table, in API names. */
  row: Entry;
  /** The running guest; undefined when off. */
  guest: Guest | undefined;
  /** What kept the last boot from coming to anything, if the machine has been switched off since. */
  lastStuck: string | undefined;
}

/** A machine that is switched on. */
export interface Guest {
  readonly machine: RunningMachine;
  readonly pid: number;
  suspended: boolean;
  /** What was handed to the runner. */
  readonly memoryMiB: number;
  /** Real local files that are open. */
  readonly paths: readonly string[];
}

/** A row of the table of devices. */
export interface Device {
  readonly id: number;
  vm: number;
  /** As stored: null is shown as a default that depends on the type. */
  order: number | null;
  attributes: Entry;
}

/** A network interface of the NAS. */
export interface Link {
  readonly name: string;
  readonly type: 'PHYSICAL' | 'BRIDGE' | 'VLAN' | 'LINK_AGGREGATION';
  readonly description: string;
  readonly address: string | null;
  readonly members: readonly string[];
  readonly mtu: number;
  up: boolean;
}

/** An address that the NAS itself has met. */
export interface Neighbour {
  readonly ip: string;
  readonly mac: string;
  readonly interface: string;
}

/** An account. */
export interface User {
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
export interface Token {
  readonly token: string;
  readonly user: string;
  readonly attributes: Entry;
  readonly singleUse: boolean;
  readonly ttlSeconds: number;
  lastUsed: number;
}

/** The whole simulated system. What outlives a reboot is here; connections are not. */
export interface Nas {
  /** Another one after an update. */
  version: Version;
  readonly clock: WorldClock;
  readonly switchboard: Switchboard;
  readonly runner: MachineRunner;
  /** Everything on disk lies below: `root` (files), `zvol`, `log`. */
  readonly folder: string;
  /** Ends every wait when the room closes. */
  readonly signal: AbortSignal;
  readonly hostname: string;
  readonly memoryMiB: number;
  /** The cache of ZFS, which takes memory and gives it back. */
  readonly arc: Arc;
  readonly cores: number;
  /** Machine types that guests can have, by architecture. */
  readonly guestMachines: Readonly<Record<string, readonly string[]>>;
  /** Without hardware virtualization every VM has the state ERROR. */
  readonly hasKvm: boolean;
  readonly pools: Map<string, Pool>;
  readonly datasets: Map<string, Dataset>;
  readonly snapshots: Map<string, Snapshot>;
  readonly fileMarks: Map<string, FileMark>;
  readonly vms: Map<number, Vm>;
  readonly devices: Map<number, Device>;
  readonly links: Map<string, Link>;
  /** By interface: who hands out addresses in the network behind it. It is no part of the NAS, and keeps what it knows. */
  readonly dhcp: ReadonlyMap<string, DhcpServer>;
  /** Who answers on the networks of the NAS. */
  readonly neighbours: Neighbour[];
  readonly users: User[];
  readonly keys: ApiKey[];
  readonly tokens: Map<string, Token>;
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
  readonly jobs: Jobs;
  readonly events: Events;
  /** What the system says of itself: it answers while it goes down, too. */
  state: 'BOOTING' | 'READY' | 'SHUTTING_DOWN';
  bootId: string;
  bootedAt: Date;
}

/** Another one at each start of the host. */
export const newBootId = (): string => randomUUID();

/** The room's name at the switchboard. */
export const roomName = 'truenas';

/** Milliseconds of the world's time since `then`. */
export function worldMillisecondsSince(nas: Nas, then: number): number {
  return (performance.now() - then) / Math.max(nas.clock.scale, 1e-9);
}

/** Waits in the world's time, and no longer than the room lives or `signal` allows. */
export async function pause(nas: Nas, seconds: number, signal = nas.signal): Promise<void> {
  await nas.clock.sleep(seconds, signal);
}

/** The wire form of a date. */
export const wireDate = (date: Date | null): { $date: number } | null => (date ? { $date: date.getTime() } : null);
