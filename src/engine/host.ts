import type { z } from 'zod';

/** The use of a server, as its Host records it. The only transitions are from left to right, and back to the start. */
export const hostStates = [
  /** It has not been inspected yet, or it cannot be inspected. */
  'Pending',
  'Available',
  /** A Machine holds it; nothing on its disks is the provider's yet. */
  'Claimed',
  /** Set right before the first write to its disks. */
  'Provisioned',
  'Deprovisioning',
  'Maintenance',
  'Failed',
] as const;

export type HostState = (typeof hostStates)[number];

/** The health that a disk reports. */
export interface DiskHealth {
  /** `Failing`: the drive predicts its own failure. `Unknown`: it reports nothing, or could not be queried. */
  readonly health: 'Passed' | 'Failing' | 'Unknown';
  /** Details worth knowing, in a few words; may be empty. */
  readonly healthMessage: string;
  readonly powerOnHours?: number | undefined;
}

/** A disk as the inspection found it. Without health: an older version found it, which did not query health. */
export interface HostDisk extends Partial<DiskHealth> {
  /** Device name of the inspecting kernel; another kernel may use other names. */
  readonly name: string;
  readonly model: string;
  /** Empty when the disk reports none. */
  readonly serial: string;
  /** Empty when it has none. */
  readonly wwn: string;
  readonly sizeBytes: number;
  readonly type: 'nvme' | 'ssd' | 'hdd';
  /** Its contents, in words, e.g. `ext4 on nvme0n1p3`; empty: it is blank. */
  readonly holds: readonly string[];
  /** Serial numbers or WWNs of the other disks of its array or volume group; absent: not inspected. */
  readonly arrays?: readonly string[] | undefined;
}

/** A network card as the inspection found it. */
export interface HostNic {
  readonly name: string;
  /** Lower case, with colons. */
  readonly mac: string;
  /** 0: no cable. */
  readonly speedMbps: number;
}

/** The hardware that the inspection found in a server. */
export interface HostHardware {
  readonly cpu: { readonly model: string; readonly threads: number };
  readonly memoryMiB: number;
  readonly firmware: 'uefi' | 'bios';
  readonly nics: readonly HostNic[];
  readonly disks: readonly HostDisk[];
  /** RFC 3339. */
  readonly inspectedAt: string;
}

/** A server as its provider's API describes it. */
export interface HostServer {
  readonly address: string;
  readonly ipv6Net: string;
  readonly product: string;
  readonly location: string;
}

/** Selects the disk that Talos is installed on. */
export interface RootDiskHints {
  readonly serial?: string | undefined;
  readonly wwn?: string | undefined;
  readonly minSizeGiB?: number | undefined;
  readonly maxSizeGiB?: number | undefined;
  readonly type?: HostDisk['type'] | undefined;
  /** Serial numbers or WWNs of other disks that form an array with it. The array may be destroyed. */
  readonly raidMembers: readonly string[];
  /** Whether Talos may be installed on a disk that reports a failure. */
  readonly allowFailing?: boolean | undefined;
}

/** The part of a Host that only its platform knows. The CRD of Hosts is made from it. */
export interface HostSchemas {
  /** The form of `serverID`, and the message for any other one. */
  readonly serverID: { readonly pattern: RegExp; readonly message: string };
  /** The platform's section of the spec. An empty section is valid. */
  readonly spec: z.ZodType;
  /** The platform's section of the status. Default: none. */
  readonly status?: z.ZodType;
}

/** The part of the spec of a Host that all platforms have. */
export interface HostSpecView {
  /** Opaque outside of the platform. */
  readonly serverID: string;
  readonly expect: {
    readonly address?: string | undefined;
    readonly product?: string | undefined;
    readonly name?: string | undefined;
  };
  readonly roles: readonly ('controlplane' | 'worker')[];
  /** Whether foreign data on its disks may be erased. */
  readonly wipe: boolean;
  /** Serial numbers or WWNs of disks that are never written to. */
  readonly protectedDisks: readonly string[];
  readonly rootDisk: RootDiskHints;
  readonly maintenance: boolean;
}

/** A user-owned server that the provider may use. */
export interface HostView {
  /** Name of the Host. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: HostSpecView;
  /** The platform's section of the spec, parsed by its schema. */
  readonly platformSpec: unknown;
  readonly state: HostState;
  /** The server, as last observed. */
  readonly server: HostServer | undefined;
  readonly hardware: HostHardware | undefined;
  /** The platform's section of the status; undefined: nothing was written to it yet. */
  readonly platformStatus: unknown;
}

/** The status fields that steps write to a Host. */
export interface HostStatusUpdate {
  readonly state?: HostState;
  readonly server?: HostServer;
  readonly hardware?: HostHardware;
  /** Replaces the platform's section of the status. */
  readonly platformStatus?: object;
}

/** Why no Host could be claimed: each reason with the number of Hosts that it rules out. */
export type RejectionCounts = ReadonlyMap<string, number>;

/** A sentence: no Host is available for machines of this size. */
export function describeRejections(size: string, rejected: RejectionCounts): string {
  const reasons = [...rejected].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${count} ${reason}`);
  if (reasons.length === 0)
    return `No Host is available for size ${size}: there are no Hosts. Create one for each server.`;
  return `No Host is available for size ${size}: ${reasons.join(', ')}.`;
}

/**
 * The Hosts, as the steps of one machine may use them. A machine holds at most one Host, and no two machines hold the
 * same.
 */
export interface HostClaim {
  /** IDs of all servers of this platform that have a Host. No other server may be addressed. */
  servers(): ReadonlySet<string>;
  /** The Host that this machine holds, read from the API server; undefined: none. Never claims one. */
  current(): Promise<HostView | undefined>;
  /**
   * The Host that the machine holds, or else a free one that `refuse` accepts, which it claims. `refuse` returns a
   * reason that follows a number in a sentence: `3 without the label disk=nvme`.
   */
  claim(refuse: (host: HostView) => string | undefined): Promise<HostView | { readonly rejected: RejectionCounts }>;
  /** Writes to the status of the held Host. Throws HOST_LOST when the machine holds none. */
  updateStatus(change: HostStatusUpdate): Promise<void>;
  /** Releases the Host for other machines. Success when the machine holds none. */
  release(): Promise<void>;
  /**
   * Releases the Host and keeps it, and the address of this machine, out of use until a user decides: the server may start
   * again, with what was written to it. `reason`: for that user, in sentences. Success when the machine holds none.
   */
  quarantine(reason: string): Promise<void>;
}
