import { findPlatformSection } from '../../api/provider-config-spec.ts';
import type { Owner } from '../../engine/node.ts';
import type { ObserveAllContext } from '../../engine/observation.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Facts } from '../../engine/step.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';

const observeAllDeadlineSeconds = 60;

export interface MachineLocation {
  readonly config: string;
  readonly platform: string;
  readonly failureDomain: string | undefined;
}

export interface IdleMachine extends MachineLocation {
  readonly owner: Owner;
  readonly facts: Facts;
}

export type MonitorServices = Pick<
  Services,
  'stores' | 'platforms' | 'connections' | 'namespace' | 'installation' | 'provider' | 'clock' | 'log'
>;

/** Observes all Machines of a location (ProviderConfig and failure domain) with one request. */
export class LocationObserver {
  readonly #services: MonitorServices;

  constructor(services: MonitorServices) {
    this.#services = services;
  }

  /** Whether the platform can observe all Machines of a location at once. */
  canObserve({ platform }: MachineLocation): boolean {
    return this.#platform(platform)?.monitor.observeAll !== undefined;
  }

  /**
   * The fingerprints of the Machines of one location, in their order. Undefined if the location cannot be determined.
   */
  async observeAll(all: readonly IdleMachine[], signal: AbortSignal): Promise<readonly string[] | undefined> {
    const [first] = all;
    const platform = this.#platform(first?.platform);
    const place = first && platform && this.#describe(platform, first, signal);
    if (!place || !platform.monitor.observeAll) return undefined;
    const { observeAll } = platform.monitor;
    return await withDeadline(observeAllDeadlineSeconds, signal, (limit) =>
      observeAll({ ...place, machines: all, signal: limit }),
    );
  }

  /**
   * Calls `listener` when the location of this Machine reports a change. Undefined if the platform does not report
   * changes, or not with this configuration and these credentials: the next observation reports why.
   */
  listen(one: MachineLocation, listener: () => void): (() => void) | undefined {
    const platform = this.#platform(one.platform);
    const place = platform && this.#describe(platform, one, this.#services.connections.signal);
    try {
      return place && platform.monitor.listen?.(place, listener);
    } catch (error) {
      if (error instanceof ProviderError) return undefined;
      throw error;
    }
  }

  #describe(
    platform: Platform,
    { config: name, failureDomain }: MachineLocation,
    signal: AbortSignal,
  ): Omit<ObserveAllContext, 'machines'> | undefined {
    const { stores, connections, clock, log } = this.#services;
    const config = stores.providerConfigs.get({ name });
    const spec = config && parseSpec(config);
    const chosen = spec?.success ? findPlatformSection(spec.data) : undefined;
    if (chosen?.name !== platform.name) return undefined;
    // A Machine from before its ProviderConfig had failure domains is located by its own facts and not observed here.
    const names = platform.failureDomains.names(chosen.section);
    if (failureDomain === undefined ? names.length > 0 : !names.includes(failureDomain)) return undefined;
    const credentials = findPlatformCredentials(this.#services, platform, chosen.section, { failureDomain });
    if ('missing' in credentials) return undefined;
    return { config: chosen.section, credentials: credentials.secrets, failureDomain, connections, clock, log, signal };
  }

  #platform(name: string | undefined): Platform | undefined {
    return this.#services.platforms.find((one) => one.name === name);
  }
}
