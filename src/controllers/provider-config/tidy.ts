import type { ProviderConfig } from '../../api/provider-config.ts';
import type { CheckContext, Closable, Platform } from '../../engine/platform.ts';
import type { AtSite } from '../../engine/sites.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Services } from '../services.ts';
import { stillNeeded } from './still-needed.ts';

/** Where and with what there is something to tidy up: one for each place of a ProviderConfig. */
export interface TidyPlace {
  readonly tidy: NonNullable<Platform['tidy']>;
  readonly check: CheckContext & AtSite;
}

const hourSeconds = 3600;

/** When each ProviderConfig is due: an hour after this process has first seen it, then each hour, and when somebody asks. */
class Hours implements Closable {
  readonly #last = new Map<string, number>();

  /** Due as soon as it can be looked at. */
  ask(name: string): void {
    this.#last.set(name, Number.NEGATIVE_INFINITY);
  }

  isDue(name: string, clock: Pick<Clock, 'monotonic'>): boolean {
    const now = clock.monotonic();
    const last = this.#last.get(name);
    const due = last !== undefined && now - last >= hourSeconds * 1000;
    if (due || last === undefined) this.#last.set(name, now);
    return due;
  }

  close(): void {
    this.#last.clear();
  }
}

const hoursOf = ({ connections }: Services): Hours => connections.get('tidy-hours', () => new Hours());

/** Somebody asks for it: the next reconcile that gets so far does not wait for its hour. */
export const tidySoon = (services: Services, { metadata }: ProviderConfig): void =>
  hoursOf(services).ask(metadata.name);

/** Has removed what nobody needs any more. What goes wrong is in nobody's way and is tried again in an hour. */
export async function tidyUp(services: Services, config: ProviderConfig, places: readonly TidyPlace[]): Promise<void> {
  const { installation, provider, clock } = services;
  if (places.length === 0 || !hoursOf(services).isDue(config.metadata.name, clock)) return;
  for (const { tidy, check } of places) {
    const needed = () => stillNeeded(services, check.signal);
    try {
      for (const sentence of await tidy({ ...check, ours: { installation, provider }, needed })) {
        services.events.record(config, 'Normal', 'Tidied', sentence);
      }
    } catch (error) {
      check.signal.throwIfAborted();
      if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
      check.log.warn({ code: error.code, site: check.site }, 'could not tidy up, is tried again in an hour');
    }
  }
}
