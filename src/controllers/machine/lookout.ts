import { platformOf } from '../../api/provider-config-spec.ts';
import type { GlanceContext } from '../../engine/observation.ts';
import type { Facts, Owner, Platform } from '../../engine/platform.ts';
import { within } from '../../lib/deadline.ts';
import { findCredentials } from '../credentials.ts';
import type { Services } from '../services.ts';
import { parseSpec } from '../spec/parse.ts';

const glanceDeadlineSeconds = 60;

export interface Place {
  readonly config: string;
  readonly platform: string;
  readonly site: string | undefined;
}

/** A machine, and where it is. */
export interface Resting extends Place {
  readonly owner: Owner;
  readonly facts: Facts;
}

export type Room = Pick<
  Services,
  'stores' | 'platforms' | 'connections' | 'namespace' | 'installation' | 'provider' | 'clock' | 'log'
>;

/** Sees, and hears of, all machines of a place together. */
export class Lookout {
  readonly #room: Room;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Whether machines like this one can be seen so. */
  sees({ platform }: Place): boolean {
    return this.#platform(platform)?.glance !== undefined;
  }

  /** The traces of machines of one place, in their order; undefined where nobody can say what that place is. */
  async glance(all: readonly Resting[], signal: AbortSignal): Promise<readonly string[] | undefined> {
    const [first] = all;
    const platform = this.#platform(first?.platform);
    const place = first && platform && this.#describe(platform, first, signal);
    if (!place || !platform.glance) return undefined;
    const { glance } = platform;
    return await within(glanceDeadlineSeconds, signal, (limit) => glance({ ...place, machines: all, signal: limit }));
  }

  /** Has `listener` called when the place of such a machine tells of changes; undefined where it never does. */
  listen(one: Place, listener: () => void): (() => void) | undefined {
    const platform = this.#platform(one.platform);
    const place = platform && this.#describe(platform, one, this.#room.connections.signal);
    return place && platform.listen?.(place, listener);
  }

  #describe(
    platform: Platform,
    { config: name, site }: Place,
    signal: AbortSignal,
  ): Omit<GlanceContext, 'machines'> | undefined {
    const { stores, connections, clock, log } = this.#room;
    const config = stores.providerConfigs.get({ name });
    const spec = config && parseSpec(config);
    const chosen = spec?.success ? platformOf(spec.data) : undefined;
    if (chosen?.name !== platform.name) return undefined;
    // One from before its places had names is where its facts say, each for itself.
    const names = platform.sites.names(chosen.section);
    if (site === undefined ? names.length > 0 : !names.includes(site)) return undefined;
    const credentials = findCredentials(this.#room, platform, chosen.section, { site });
    if ('missing' in credentials) return undefined;
    return { config: chosen.section, credentials: credentials.secrets, site, connections, clock, log, signal };
  }

  #platform(name: string | undefined): Platform | undefined {
    return this.#room.platforms.find((one) => one.name === name);
  }
}
