import type { PlatformContext } from '../contexts.ts';

/** A store of disks of a system, e.g. a pool. */
export interface VolumeUsage {
  readonly name: string;
  readonly availableBytes: number;
  /** Undefined: unknown. */
  readonly totalBytes?: number;
  readonly isHealthy: boolean;
}

/** What is left of one system on which machines are created. */
export interface SystemUsage {
  /** Its name for users: that of the failure domain, or its host. */
  readonly system: string;
  /** What further machines can be given. Undefined: unknown. */
  readonly memory?: { readonly availableBytes: number };
  readonly volumes: readonly VolumeUsage[];
}

/** For platforms whose machines share the memory and the disks of a system. */
export interface UsageCapability<C> {
  /** Read-only. For users: nothing is decided by it. */
  read(context: PlatformContext<C>): Promise<SystemUsage>;
}
