import type { Facts, NodeSpec, PlatformContext, Step, StepContext } from '../platform.ts';

/** What a server is being used for, as its Host says. The only way round is the one from left to right, and back. */
export const hostStates = [
  /** Nobody has looked at it yet, or it cannot be looked at. */
  'Pending',
  'Available',
  /** A Machine holds it; nothing is on its disks yet that is ours. */
  'Claimed',
  /** From right before the first write to its disks. */
  'Provisioned',
  'Deprovisioning',
  'Maintenance',
  'Failed',
] as const;
export type HostState = (typeof hostStates)[number];

/** What a disk says of its own health. */
export interface DiskHealth {
  /** `Failing`: the drive itself expects to fail. `Unknown`: it does not say, or nobody could ask it. */
  readonly health: 'Passed' | 'Failing' | 'Unknown';
  /** What is worth knowing of that, in a few words; empty: nothing. */
  readonly healthMessage: string;
  readonly powerOnHours?: number | undefined;
}

/** A disk as it was found. Without health: it was found by a version that did not ask for that. */
export interface HostDisk extends Partial<DiskHealth> {
  /** Of the kernel that looked; another one may have other names. */
  readonly name: string;
  readonly model: string;
  /** Empty where the disk tells none. */
  readonly serial: string;
  /** Empty where it has none. */
  readonly wwn: string;
  readonly sizeBytes: number;
  readonly type: 'nvme' | 'ssd' | 'hdd';
  /** What is on it, in words, e.g. `ext4 on nvme0n1p3`; empty: it is blank. */
  readonly holds: readonly string[];
  /** Serial numbers or WWNs of others that form an array or a volume group with it; absent: nobody looked for that. */
  readonly arrays?: readonly string[] | undefined;
}

/** A network card as it was found. */
export interface HostNic {
  readonly name: string;
  /** Lower case, with colons. */
  readonly mac: string;
  /** 0: no cable. */
  readonly speedMbps: number;
}

/** What was found in a server. */
export interface HostHardware {
  readonly cpu: { readonly model: string; readonly threads: number };
  readonly memoryMiB: number;
  readonly firmware: 'uefi' | 'bios';
  readonly nics: readonly HostNic[];
  readonly disks: readonly HostDisk[];
  /** RFC 3339. */
  readonly inspectedAt: string;
}

/** What its provider says of a server. */
export interface HostServer {
  readonly address: string;
  readonly ipv6Net: string;
  readonly product: string;
  readonly location: string;
  readonly resetTypes: readonly string[];
}

/** Which disk the system goes to. */
export interface RootDiskHints {
  readonly serial?: string | undefined;
  readonly wwn?: string | undefined;
  readonly minSizeGiB?: number | undefined;
  readonly maxSizeGiB?: number | undefined;
  readonly type?: HostDisk['type'] | undefined;
  /** Serial numbers or WWNs of other disks that form an array with it, which may be taken apart. */
  readonly raidMembers: readonly string[];
  /** Whether the system may go to a disk that says it is failing. */
  readonly allowFailing?: boolean | undefined;
}

/** What people say of a server. */
export interface HostSpecView {
  readonly serverNumber: number;
  readonly expect: {
    readonly address?: string | undefined;
    readonly product?: string | undefined;
    readonly name?: string | undefined;
  };
  readonly roles: readonly ('controlplane' | 'worker')[];
  /** Whether what others left on its disks may be erased. */
  readonly wipe: boolean;
  /** Serial numbers or WWNs of disks that are never written to. */
  readonly protectedDisks: readonly string[];
  readonly rootDisk: RootDiskHints;
  /** The first that it offers is used. */
  readonly resetTypes: readonly ('sw' | 'hw' | 'power' | 'power_long')[];
  readonly maintenance: boolean;
}

/** A server that people lent us. */
export interface HostView {
  /** Name of the Host. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: HostSpecView;
  readonly state: HostState;
  /** As last seen. */
  readonly server: HostServer | undefined;
  readonly hardware: HostHardware | undefined;
}

/** What steps write down at a Host. */
export interface HostStatusUpdate {
  readonly state?: HostState;
  readonly server?: HostServer;
  readonly hardware?: HostHardware;
}

/** Why no Host could be had: reasons, and how many Hosts each stands against. */
export type RejectionCounts = ReadonlyMap<string, number>;

/** In a sentence: no Host can be had for machines of this size. */
export function describeRejections(size: string, rejected: RejectionCounts): string {
  const reasons = [...rejected].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${count} ${reason}`);
  if (reasons.length === 0) return `No Host can be had for size ${size}: there are none. Create one for each server.`;
  return `No Host can be had for size ${size}: ${reasons.join(', ')}.`;
}

/** The Hosts, as the steps of one machine may use them. A machine holds one at most, and no two hold the same. */
export interface HostClaim {
  /** Numbers of all servers that have a Host. No other may even be addressed. */
  servers(): ReadonlySet<number>;
  /** The one that this machine holds, read anew; undefined: none. It never claims one. */
  held(): Promise<HostView | undefined>;
  /**
   * The one that it holds, or else a free one that `refuse` has nothing against, which it holds from now on. `refuse` gives a
   * reason that goes on after a number: `3 without the label disk=nvme`.
   */
  claim(refuse: (host: HostView) => string | undefined): Promise<HostView | { readonly rejected: RejectionCounts }>;
  /** Writes something down at the one that it holds. Throws HOST_LOST when it holds none. */
  note(change: HostStatusUpdate): Promise<void>;
  /** Lets it go: others may have it. Success when it holds none. */
  release(): Promise<void>;
}

/** What the steps of a Host's own tasks know: no machine, no cluster. */
export type HostContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'owner' | 'connections' | 'log' | 'clock' | 'signal'
> & {
  readonly host: HostView;
  /** What earlier steps of this task learned. */
  readonly facts: Facts;
  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number>;
  /** Writes something down at the Host. */
  note(change: HostStatusUpdate): Promise<void>;
  /** Of the boot that the machine is in which holds it; undefined: none does, or it does not answer. */
  bootId(): Promise<string | undefined>;
};

/** A server of an account, whether it has a Host or not. */
export interface AccountServer {
  readonly number: number;
  /** As people called it; may be empty. */
  readonly name: string;
  readonly address: string | undefined;
  readonly product: string;
  readonly location: string;
  /** What to know before it is lent to us, in sentences. */
  readonly oddities: readonly string[];
}

/** Whose servers are looked for, before there is a ProviderConfig that says so. */
export type AccountContext = Omit<PlatformContext, 'config'> & {
  /** Name of the Secret. */
  readonly credentialsName: string;
  /** Default: that of the provider. */
  readonly url?: string | undefined;
  /** PEM. Default: the public ones. */
  readonly caBundle?: string | undefined;
};

/** What a platform has to bring whose machines are people's own servers. */
export interface HostInventory<C> {
  /** Whether a ProviderConfig with this section may claim a Host with these labels. */
  uses(config: C, labels: Readonly<Record<string, string>>): boolean;
  /** What stands against a Host for such a node, to go on after a number, as {@link HostClaim.claim} is told; undefined: nothing. */
  refuses(config: C, host: HostView, node: Pick<NodeSpec, 'role' | 'size'>): string | undefined;
  /** Why no machine at all can use a Host, in a sentence, by what was found in it when it was last looked at; undefined: nothing. */
  whyUnusable(host: HostView): string | undefined;
  /** Read-only, and one call: all servers of an account. */
  survey(account: AccountContext): Promise<readonly AccountServer[]>;
  /**
   * Read-only: what its provider says of the server, or in a sentence why it is not the one that the Host means or cannot
   * be used. Throws when nobody could be asked.
   */
  identify(context: HostContext<C>): Promise<{ readonly server: HostServer } | { readonly refused: string }>;
  /** Finds out what is in a server that nobody uses. Reboots it; writes to no disk. */
  readonly inspect: readonly Step<HostContext<C>>[];
  /** Reboots a server, and proves it. */
  readonly reboot: readonly Step<HostContext<C>>[];
}
