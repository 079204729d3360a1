import { findPlatformSection } from '../../api/provider-config-spec.ts';
import type { ObserveAllContext } from '../../engine/observation.ts';
import type { Facts, Owner, Platform } from '../../engine/platform.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';

const observeAllDeadlineSeconds = 60;

export interface MachineLocation {
  readonly config: string;
  readonly platform: string;
  readonly site: string | undefined;
}

/** A machine, and where it is. */
export interface IdleMachine extends MachineLocation {
  readonly owner: Owner;
  readonly facts: Facts;
}

export type MonitorServices = Pick<
  Services,
  'stores' | 'platforms' | 'connections' | 'namespace' | 'installation' | 'provider' | 'clock' | 'log'
>;

/** Sees, and hears of, all machines of a place together. */
export class LocationObserver {
  readonly #room: MonitorServices;

  constructor(room: MonitorServices) {
    this.#room = room;
  }

  /** Whether machines like this one can be seen so. */
  sees({ platform }: MachineLocation): boolean {
    return this.#platform(platform)?.glance !== undefined;
  }

  /** The traces of machines of one place, in their order; undefined where nobody can say what that place is. */
  async glance(all: readonly IdleMachine[], signal: AbortSignal): Promise<readonly string[] | undefined> {
    const [first] = all;
    const platform = this.#platform(first?.platform);
    const place = first && platform && this.#describe(platform, first, signal);
    if (!place || !platform.glance) return undefined;
    const { glance } = platform;
    return await withDeadline(observeAllDeadlineSeconds, signal, (limit) =>
      glance({ ...place, machines: all, signal: limit }),
    );
  }

  /** Has `listener` called when the place of such a machine tells of changes; undefined where it never does. */
  listen(one: MachineLocation, listener: () => void): (() => void) | undefined {
    const platform = this.#platform(one.platform);
    const place = platform && this.#describe(platform, one, this.#room.connections.signal);
    return place && platform.listen?.(place, listener);
  }

  #describe(
    platform: Platform,
    { config: name, site }: MachineLocation,
    signal: AbortSignal,
  ): Omit<ObserveAllContext, 'machines'> | undefined {
    const { stores, connections, clock, log } = this.#room;
    const config = stores.providerConfigs.get({ name });
    const spec = config && parseSpec(config);
    const chosen = spec?.success ? findPlatformSection(spec.data) : undefined;
    if (chosen?.name !== platform.name) return undefined;
    // One from before its places had names is where its facts say, each for itself.
    const names = platform.sites.names(chosen.section);
    if (site === undefined ? names.length > 0 : !names.includes(site)) return undefined;
    const credentials = findPlatformCredentials(this.#room, platform, chosen.section, { site });
    if ('missing' in credentials) return undefined;
    return { config: chosen.section, credentials: credentials.secrets, site, connections, clock, log, signal };
  }

  #platform(name: string | undefined): Platform | undefined {
    return this.#room.platforms.find((one) => one.name === name);
  }
}
