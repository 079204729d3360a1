import type { Log } from '../../../src/lib/log.ts';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import type { BareMetalMachine } from './machine/bare-metal-machine.ts';
import type { Delays, RobotBehaviour } from './setup/seed.ts';

/** The shared state of the simulator. */
export interface RobotState {
  readonly clock: ScaledClock;
  readonly startedAt: Date;
  readonly switchboard: CallInterceptor;
  /** Ends every wait when the simulator closes. */
  readonly signal: AbortSignal;
  readonly log: Log | undefined;
  readonly behaviour: RobotBehaviour;
  readonly delays: Delays;
  /** Hourly request limits that differ from the documented ones: `POST /reset` to number. */
  readonly limits: Readonly<Record<string, number>>;
  readonly accounts: readonly AccountState[];
  /** Of all accounts, by number. */
  readonly servers: ReadonlyMap<number, ServerState>;
  /** Failed logins by source address. */
  readonly strikes: Map<string, LoginFailures>;
  /** Addresses that were ever locked out. */
  readonly lockouts: string[];
  /** Calls that are forbidden to provisioners. */
  readonly forbidden: string[];
  /** The webservice is down for maintenance. */
  maintenance: boolean;
  /** Counter for generated numbers. */
  nextId: number;
}

export interface LoginFailures {
  /** Simulated seconds of each failure. */
  failures: number[];
  blockedUntil: number;
}

/** One customer. The webservice user sees only its servers. */
export interface AccountState {
  readonly user: string;
  password: string;
  /** By fingerprint. */
  readonly keys: Map<string, StoredSshKey>;
  readonly vswitches: Map<number, VSwitchState>;
  readonly failovers: Map<string, FailoverState>;
  /** Simulated seconds of each call of the last hour, by bucket. */
  readonly spent: Map<string, number[]>;
  /** All calls that reached the account, by bucket. */
  readonly calls: Map<string, number>;
}

/** A public key of an account. */
export interface StoredSshKey {
  name: string;
  /** MD5 of the blob, 16 bytes with colons. */
  readonly fingerprint: string;
  readonly type: string;
  readonly size: number;
  /** As OpenSSH writes it, without a comment. */
  readonly data: string;
  readonly createdAt: string;
}

export interface VSwitchState {
  readonly id: number;
  name: string;
  vlan: number;
  cancelled: boolean;
  /** Members by server number; `in process` while they are added or removed. */
  readonly members: Map<number, 'ready' | 'in process' | 'failed'>;
}

export interface FailoverState {
  readonly ip: string;
  /** Dotted, or an expanded IPv6 mask. */
  readonly netmask: string;
  /** The server of the order. */
  readonly server: ServerState;
  /** Main address (or main network) of the server that it is routed to. */
  active: string | null;
  /** A switch is in progress. */
  locked: boolean;
}

export const bootConfigKinds = ['rescue', 'linux', 'vnc', 'windows', 'plesk', 'cpanel'] as const;
/** The configurations for the next network boot. All except rescue install a system and erase disks. */
export type BootConfigKind = (typeof bootConfigKinds)[number];

/** An armed boot configuration. */
export interface BootActivation {
  readonly kind: BootConfigKind;
  /** `os` or `dist`. */
  readonly system: string;
  readonly password: string | null;
  readonly keys: readonly StoredSshKey[];
  /** Simulated seconds. */
  readonly at: number;
}

export const resetTypes = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
export type ServerResetType = (typeof resetTypes)[number];

/** A server as the webservice presents it; `machine` is the hardware. */
export interface ServerState {
  readonly number: number;
  readonly account: AccountState;
  name: string;
  readonly product: string;
  readonly dc: string;
  status: 'ready' | 'in process';
  cancelled: boolean;
  readonly paidUntil: string;
  /** Main IPv4; null: ordered without. */
  readonly address: string | null;
  readonly gateway: string;
  readonly prefix: number;
  readonly ipv6Net: string;
  /** Main IPv4 addresses and others. */
  readonly ips: readonly string[];
  readonly offers: readonly BootConfigKind[];
  readonly resets: readonly ServerResetType[];
  readonly tellsOperatingStatus: boolean;
  /** At most one. */
  activation: BootActivation | undefined;
  lastRescue: BootActivation | undefined;
  /** A technician is on the way. */
  manualResetOpen: boolean;
  readonly machine: BareMetalMachine;
}

/** The simulator's name at the interceptor. */
export const robotSimulatorName = 'robot';
