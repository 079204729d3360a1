/**
 * The JSON of `/api/v1`, shared with the page. Every list is bounded and every text shortened. Times are RFC 3339. No field
 * comes from a Secret.
 */

/** `attention`: it works, and something beside its readiness is not as it should be. */
export const clusterHealths = ['unhealthy', 'attention', 'creating', 'deleting', 'ready'] as const;
export type ClusterHealth = (typeof clusterHealths)[number];

export interface ClusterRefJson {
  readonly namespace: string;
  readonly name: string;
}

/** Why something is not as it should be. */
export interface CauseJson {
  /** UpperCamelCase and stable: the guide describes it. */
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

export interface ClusterRowJson extends ClusterRefJson {
  readonly health: ClusterHealth;
  readonly cause?: CauseJson;
  /** Name of the ProviderConfig. */
  readonly config: string;
  readonly platform?: string;
  readonly kubernetesVersion?: string;
  readonly talosVersion?: string;
  readonly machines: number;
  readonly readyMachines: number;
  /** A user has to look at it. */
  readonly isProblem: boolean;
}

export interface ClusterPageJson {
  /** Number of Clusters that match. */
  readonly total: number;
  /** From 1. */
  readonly page: number;
  readonly pages: number;
  readonly clusters: readonly ClusterRowJson[];
}

/** How far the machines of a ProviderConfig have followed it. */
export interface ConfigRolloutJson {
  readonly config: string;
  readonly total: number;
  readonly updated: number;
  readonly updating: number;
  readonly failed: number;
  readonly isPaused: boolean;
}

export interface BackupsJson {
  /** Number of Clusters that are to be backed up. */
  readonly scheduled: number;
  /** Those whose last backup failed. */
  readonly failing: number;
  /** The Cluster whose last complete backup is the oldest; one without a backup counts from its creation. */
  readonly oldest?: ClusterRefJson & { readonly since: string; readonly isMissing: boolean };
}

export interface AddressPoolJson {
  /** As in `network.addressPool`. */
  readonly pool: string;
  readonly configs: readonly string[];
  readonly total: number;
  /** Absent: the claims were not read yet. */
  readonly free?: number;
}

export interface HostsJson {
  readonly total: number;
  readonly free: number;
  readonly inUse: number;
  readonly failed: number;
}

export interface VolumeJson {
  readonly name: string;
  readonly availableBytes: number;
  readonly totalBytes?: number;
  readonly isHealthy: boolean;
}

/** A system that machines are created on, e.g. a NAS. */
export interface SystemJson {
  readonly system: string;
  readonly configs: readonly string[];
  readonly memory?: { readonly availableBytes: number; readonly totalBytes?: number };
  readonly volumes: readonly VolumeJson[];
  /** Why nothing is known of it. */
  readonly problem?: string;
}

export interface FleetJson {
  readonly provider: string;
  /** The leader alone reads systems. */
  readonly isLeader: boolean;
  /** False: the caches are still being filled. */
  readonly isComplete: boolean;
  readonly clusters: { readonly total: number; readonly byHealth: Readonly<Record<ClusterHealth, number>> };
  readonly machines: { readonly total: number; readonly ready: number };
  readonly problems: { readonly total: number; readonly first: readonly ClusterRowJson[] };
  readonly rollouts: { readonly changingClusters: number; readonly configs: readonly ConfigRolloutJson[] };
  readonly backups: BackupsJson;
  /** Absent: there is no Host. */
  readonly hosts?: HostsJson;
  readonly addressPools: readonly AddressPoolJson[];
  readonly systems: readonly SystemJson[];
}

export interface ConditionJson {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** `unseen`: it is done, and this process did not see when. */
export type StepStateJson = 'done' | 'unseen' | 'current' | 'next';

export interface StepJson {
  readonly name: string;
  readonly state: StepStateJson;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly tries?: number;
  /** Median of the other machines that were seen in this step. */
  readonly usualSeconds?: number;
}

export interface PlanJson {
  /** `provision`, `update`, `repair` or `release`. */
  readonly plan: string;
  readonly finishedAt?: string;
  readonly steps: readonly StepJson[];
}

export interface MachineRowJson {
  readonly name: string;
  readonly role: string;
  readonly pool: string;
  readonly phase: string;
  readonly address?: string;
  readonly isReady: boolean;
  readonly cause?: CauseJson;
  readonly isOverdue: boolean;
  readonly message: string;
  readonly talosVersion?: string;
  readonly kubernetesVersion?: string;
  /** What the change needs that is pending, e.g. `restart`. */
  readonly pending?: string;
  /** The steps that run now; absent when there are none. */
  readonly current?: PlanJson;
}

export interface EventJson {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly object: string;
  readonly count: number;
  readonly at: string;
}

export interface AccessJson extends ClusterRefJson {
  readonly kind: 'token' | 'oidc' | 'none';
  readonly phase: string;
  readonly issuer?: string;
  readonly cause?: CauseJson;
}

export interface TrustJson {
  readonly updated: number;
  readonly total: number;
  readonly message?: string;
  readonly requests: readonly { readonly request: string; readonly state: string; readonly message?: string }[];
}

export interface ClusterBackupJson {
  readonly lastSuccess?: string;
  readonly lastAttempt?: string;
  readonly failures: number;
  readonly message?: string;
  readonly bytes?: number;
}

/** Lists that are longer than the page shows have their full length beside them. */
export interface ClusterJson extends ClusterRowJson {
  readonly createdAt?: string;
  readonly endpoint?: string;
  readonly profile: string;
  readonly conditions: readonly ConditionJson[];
  readonly rollout?: { readonly state: string; readonly pendingMachines: number; readonly isPaused: boolean };
  readonly trust?: TrustJson;
  readonly backup?: ClusterBackupJson;
  readonly machineList: readonly MachineRowJson[];
  readonly access: { readonly total: number; readonly first: readonly AccessJson[] };
  readonly events: readonly EventJson[];
}

export interface ConsoleJson {
  readonly name: string;
  readonly url: string;
}

export interface MachineJson extends Omit<MachineRowJson, 'current'> {
  readonly cluster: ClusterRefJson;
  readonly config: string;
  readonly platform: string;
  readonly size: string;
  readonly failureDomain?: string;
  readonly createdAt?: string;
  readonly host?: string;
  readonly conditions: readonly ConditionJson[];
  /** What runs or ran last comes first. */
  readonly plans: readonly PlanJson[];
  readonly consoles: readonly ConsoleJson[];
  readonly events: readonly EventJson[];
}
