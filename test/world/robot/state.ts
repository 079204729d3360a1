import type { Log } from '../../../src/lib/log.ts';
import type { WorldClock } from '../clock.ts';
import type { Switchboard } from '../switchboard.ts';
import type { Machine } from './machine/machine.ts';
import type { Behaviour, Delays } from './seed.ts';
import type { FirewallRules } from './webservice/firewall-rules.ts';

/** Everything about the room that its parts share. */
export interface Robot {
  readonly clock: WorldClock;
  readonly startedAt: Date;
  readonly switchboard: Switchboard;
  /** Ends every wait when the room closes. */
  readonly signal: AbortSignal;
  readonly log: Log | undefined;
  readonly behaviour: Behaviour;
  readonly delays: Delays;
  /** Requests an hour, where they differ from the documented ones: `POST /reset` to number. */
  readonly limits: Readonly<Record<string, number>>;
  readonly accounts: readonly Account[];
  /** Of all accounts, by number. */
  readonly servers: ReadonlyMap<number, Server>;
  /** Failed logins by source address. */
  readonly strikes: Map<string, Strikes>;
  /** Addresses that were ever locked out. */
  readonly lockouts: string[];
  /** Calls that no provisioner may make. */
  readonly forbidden: string[];
  /** The webservice is down for maintenance. */
  maintenance: boolean;
  /** For whatever needs a number of its own. */
  nextId: number;
}

export interface Strikes {
  /** World seconds of each failure. */
  failures: number[];
  blockedUntil: number;
}

/** One customer. The webservice user sees its servers and nobody else's. */
export interface Account {
  readonly user: string;
  password: string;
  /** By fingerprint. */
  readonly keys: Map<string, Key>;
  readonly vswitches: Map<number, VSwitch>;
  readonly templates: Map<number, FirewallTemplate>;
  readonly failovers: Map<string, Failover>;
  /** Reverse DNS, by address. */
  readonly pointers: Map<string, string>;
  /** World seconds of each call of the last hour, by bucket. */
  readonly spent: Map<string, number[]>;
  /** All calls that reached the account, by bucket. */
  readonly calls: Map<string, number>;
}

/** A public key of an account. */
export interface Key {
  name: string;
  /** MD5 of the blob, 16 bytes with colons. */
  readonly fingerprint: string;
  readonly type: string;
  readonly size: number;
  /** As OpenSSH writes it, without a comment. */
  readonly data: string;
  readonly createdAt: string;
}

export interface VSwitch {
  readonly id: number;
  name: string;
  vlan: number;
  cancelled: boolean;
  /** Members by server number; `in process` while they come or go. */
  readonly members: Map<number, 'ready' | 'in process' | 'failed'>;
}

export interface Failover {
  readonly ip: string;
  /** Dotted, or an expanded IPv6 mask. */
  readonly netmask: string;
  /** The server it was ordered for. */
  readonly server: Server;
  /** Main address (or main network) of the server that it is routed to. */
  active: string | null;
  /** A switch is under way. */
  locked: boolean;
}

export interface FirewallTemplate {
  readonly id: number;
  name: string;
  filterIpv6: boolean;
  whitelistHos: boolean;
  isDefault: boolean;
  rules: FirewallRules;
}

export interface Firewall {
  status: 'active' | 'disabled';
  /** Being written to the switch. */
  isApplying: boolean;
  filterIpv6: boolean;
  whitelistHos: boolean;
  rules: FirewallRules;
  /** The last call was a DELETE: rules are shown as an object. */
  isCleared: boolean;
}

export const bootKinds = ['rescue', 'linux', 'vnc', 'windows', 'plesk', 'cpanel'] as const;
/** What can be armed for the next network boot. All but rescue install something, and erase for it. */
export type BootKind = (typeof bootKinds)[number];

/** An armed boot configuration. */
export interface Activation {
  readonly kind: BootKind;
  /** `os` or `dist`. */
  readonly system: string;
  readonly arch: number;
  readonly lang: string | null;
  readonly hostname: string | null;
  readonly password: string | null;
  readonly keys: readonly Key[];
  /** World seconds. */
  readonly at: number;
}

/** An address of an account beside the main one, or that. */
export interface Ip {
  readonly ip: string;
  readonly isMain: boolean;
  separateMac: string | null;
  readonly traffic: Traffic;
}

/** Thresholds: MB, MB, GB. */
export interface Traffic {
  warnings: boolean;
  hourly: number;
  daily: number;
  monthly: number;
}

export interface Subnet {
  readonly ip: string;
  readonly mask: number;
  readonly gateway: string;
  readonly failover: boolean;
  readonly traffic: Traffic;
}

export const resetTypes = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
export type ResetType = (typeof resetTypes)[number];

/** A server as the webservice knows it; `machine` is the box itself. */
export interface Server {
  readonly number: number;
  readonly account: Account;
  name: string;
  readonly product: string;
  readonly dc: string;
  readonly traffic: string;
  status: 'ready' | 'in process';
  cancelled: boolean;
  readonly paidUntil: string;
  /** Main IPv4; null: ordered without. */
  readonly address: string | null;
  readonly gateway: string;
  readonly prefix: number;
  readonly ipv6Net: string;
  readonly ips: Ip[];
  readonly subnets: Subnet[];
  /** What `rescue` in the server object says; it is not to be relied on. */
  readonly saysRescue: boolean;
  readonly offers: readonly BootKind[];
  readonly resets: readonly ResetType[];
  readonly hasWakeOnLan: boolean;
  readonly tellsOperatingStatus: boolean;
  /** Null: this product has none. */
  readonly firewall: Firewall | null;
  /** At most one. */
  activation: Activation | undefined;
  readonly lastActivations: Map<BootKind, Activation>;
  /** A technician was asked to press the button. */
  manualResetOpen: boolean;
  readonly machine: Machine;
}

/** The room's name at the switchboard. */
export const roomName = 'robot';
