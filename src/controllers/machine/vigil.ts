import type { Machine } from '../../api/machine.ts';
import { platformOf } from '../../api/provider-config.ts';
import type { GlanceContext } from '../../engine/observation.ts';
import type { Facts, Owner, Platform } from '../../engine/platform.ts';
import type { Source } from '../../kube/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { within } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { findCredentials } from '../credentials.ts';
import type { Services } from '../services.ts';
import { parseSpec } from '../spec/parse.ts';

/** With an answer that is shared for a while, less than a minute in all. */
const glanceSeconds = 40;
const glanceDeadlineSeconds = 60;

/** A machine at rest. */
interface Resting {
  readonly owner: Owner;
  readonly facts: Facts;
  readonly config: string;
  readonly platform: string;
  readonly site: string | undefined;
  /** All that it was judged by when it was found at rest. */
  readonly trace: string;
}

type Room = Pick<
  Services,
  'stores' | 'platforms' | 'connections' | 'namespace' | 'installation' | 'provider' | 'clock' | 'log'
>;

/**
 * Keeps watch over machines at rest. All of a place are seen with one look, so that a thousand of them cost no more than one; the
 * one about which something has changed is woken, and looked at on its own.
 */
export class Vigil {
  readonly #room: Room;
  readonly #resting = new Map<string, Resting>();

  constructor(room: Room) {
    this.#room = room;
  }

  /** It is woken from now on when something else is seen of it than `trace`. False: nobody can see it so. */
  keep(machine: Machine, facts: Facts, trace: string): boolean {
    const { name } = machine.metadata;
    const { platform, site, providerConfigRef } = machine.spec;
    if (!this.#platform(platform)?.glance) return false;
    const { installation, provider } = this.#room;
    const owner = { installation, provider, machine: name };
    this.#resting.set(name, { owner, facts, config: providerConfigRef.name, platform, site, trace });
    return true;
  }

  /** It is looked at by others, or is gone. */
  release(machine: string): void {
    this.#resting.delete(machine);
  }

  /** Hands on the names of those that are to be looked at, for as long as somebody listens. */
  get source(): Source {
    return {
      synced: Promise.resolve(),
      subscribe: (enqueue) => {
        const over = new AbortController();
        void this.#watch((key) => enqueue(key, 'patient'), over.signal);
        return () => over.abort();
      },
    };
  }

  async #watch(wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Rejects only when nobody listens any more.
      await this.#room.clock.sleep(glanceSeconds * 1000, signal).catch(() => {});
      if (signal.aborted) return;
      await Promise.all(this.#places().map((place) => this.#look(place, wake, signal)));
    }
  }

  async #look(place: readonly Resting[], wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    try {
      for (const name of await this.#changedOf(place, signal)) if (this.#resting.delete(name)) wake({ name });
    } catch (error) {
      if (!signal.aborted) this.#room.log.error({ err: error }, 'a glance failed by a fault of ours');
    }
  }

  /** Those at rest, by where they are. */
  #places(): Resting[][] {
    const places = new Map<string, Resting[]>();
    for (const one of this.#resting.values()) {
      const at = [one.platform, one.config, one.site].join('/');
      const others = places.get(at);
      if (others) others.push(one);
      else places.set(at, [one]);
    }
    return [...places.values()];
  }

  /** All of them where nobody can look: each says for itself why. */
  async #changedOf(all: readonly Resting[], signal: AbortSignal): Promise<readonly string[]> {
    const names = (those: readonly Resting[]) => those.map(({ owner }) => owner.machine);
    try {
      const traces = await this.#glance(all, signal);
      return names(all.filter((one, index) => traces?.[index] !== one.trace));
    } catch (error) {
      if (error instanceof ProviderError) return names(all);
      throw error;
    }
  }

  async #glance(all: readonly Resting[], signal: AbortSignal): Promise<readonly string[] | undefined> {
    const [first] = all;
    const platform = this.#platform(first?.platform);
    if (!first || !platform?.glance) return undefined;
    const place = this.#describe(platform, first);
    if (!place) return undefined;
    const { glance } = platform;
    return await within(glanceDeadlineSeconds, signal, (limit) => glance({ ...place, machines: all, signal: limit }));
  }

  #describe(
    platform: Platform,
    { config: name, site }: Resting,
  ): Omit<GlanceContext, 'machines' | 'signal'> | undefined {
    const { stores, connections, clock, log } = this.#room;
    const config = stores.providerConfigs.get({ name });
    const spec = config && parseSpec(config);
    const chosen = spec?.success ? platformOf(spec.data) : undefined;
    if (chosen?.name !== platform.name) return undefined;
    // One from before its places had names is where its facts say, each for itself.
    if (site === undefined && platform.sites.names(chosen.section).length > 0) return undefined;
    const credentials = findCredentials(this.#room, platform, chosen.section, { site });
    if ('missing' in credentials) return undefined;
    return { config: chosen.section, credentials: credentials.secrets, site, connections, clock, log };
  }

  #platform(name: string | undefined): Platform | undefined {
    return this.#room.platforms.find((one) => one.name === name);
  }
}
