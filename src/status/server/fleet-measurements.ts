import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import type { Log } from '../../lib/log.ts';
import type { SystemJson } from '../api-types.ts';
import type { Measurements } from '../views/status-sources.ts';

/** Read again after this time while somebody looks at the fleet. */
const keepSeconds = 60;
const timeoutSeconds = 30;

/** The questions behind the measurements. */
export interface MeasurementSources {
  heldAddresses(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Absent: this process does not lead, and has no connections to systems. */
  systems?: ((signal: AbortSignal) => Promise<readonly SystemJson[]>) | undefined;
}

/**
 * What the fleet view shows and no cache has. Looking at the fleet triggers the reads, at most once a minute, and a scrape
 * of metrics less often; neither waits for them. Without viewers and scrapers nothing is read.
 */
export class FleetMeasurements {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #signal: AbortSignal;
  #sources: MeasurementSources;
  #current: Measurements = { heldAddresses: undefined, systems: [] };
  #readAt = Number.NEGATIVE_INFINITY;
  #isReading = false;

  /** `changed` is called after each read. */
  constructor(
    sources: MeasurementSources,
    { clock, log, changed, signal }: { clock: Clock; log: Log; changed: () => void; signal: AbortSignal },
  ) {
    this.#sources = sources;
    this.#clock = clock;
    this.#log = log;
    this.#changed = changed;
    this.#signal = signal;
  }

  get current(): Measurements {
    return this.#current;
  }

  /** The systems can be read from now on, or no longer. */
  useSystems(systems: MeasurementSources['systems']): void {
    this.#sources = { ...this.#sources, systems };
    this.#readAt = Number.NEGATIVE_INFINITY;
    if (!systems) this.#current = { ...this.#current, systems: [] };
    this.#changed();
  }

  /** Reads what is older than this, in the background. */
  refresh(seconds = keepSeconds): void {
    const isFresh = this.#clock.monotonic() - this.#readAt < seconds * 1000;
    if (isFresh || this.#isReading || this.#signal.aborted) return;
    this.#isReading = true;
    this.#readAt = this.#clock.monotonic();
    void this.#read().finally(() => {
      this.#isReading = false;
      this.#changed();
    });
  }

  async #read(): Promise<void> {
    const { heldAddresses, systems } = this.#sources;
    const read = async <T>(what: string, ask: (signal: AbortSignal) => Promise<T>, before: T): Promise<T> => {
      try {
        return await withDeadline(timeoutSeconds, this.#signal, ask);
      } catch (error) {
        this.#log.debug({ what, error }, 'the status page could not read something');
        return before;
      }
    };
    const [held, all] = await Promise.all([
      read('addresses', heldAddresses, this.#current.heldAddresses),
      systems ? read('systems', systems, this.#current.systems) : [],
    ]);
    // The leadership may have ended meanwhile.
    this.#current = { heldAddresses: held, systems: this.#sources.systems === systems ? all : [] };
  }
}
