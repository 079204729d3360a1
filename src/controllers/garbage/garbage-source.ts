import type { ProviderConfig } from '../../api/provider-config.ts';
import type { InFailureDomain } from '../../engine/capabilities/failure-domains.ts';
import type { GarbageCapability } from '../../engine/capabilities/garbage.ts';
import type { PlatformContext } from '../../engine/contexts.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import type { GarbageSchedule } from './garbage-schedule.ts';

/** A failure domain whose platform has just answered, and has everything that the spec names. */
export interface GarbageScope {
  readonly platform: string;
  readonly garbage: GarbageCapability;
  readonly check: PlatformContext & InFailureDomain;
}

/** One reconcile of the garbage of a ProviderConfig. */
export interface GarbageVisit {
  readonly services: Services;
  readonly schedule: GarbageSchedule;
  readonly config: ProviderConfig;
  readonly scopes: readonly GarbageScope[];
  /** Names of the failure domains that are missing in `scopes`. Nothing may be concluded about them. */
  readonly unavailable: readonly string[];
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * A kind of garbage: it lists candidates, looks for evidence that each is unused, removes what has been unused for the
 * grace period, and reports it in the status or as Events.
 */
export interface GarbageSource {
  /** Collects what is due. Returns the seconds until the next visit, if that is not the next platform check. */
  collect(visit: GarbageVisit): Promise<number | undefined>;
}

/** A resource without approval is removed when it has been unused for this time. */
export const gracePeriodSeconds = 24 * 3600;
