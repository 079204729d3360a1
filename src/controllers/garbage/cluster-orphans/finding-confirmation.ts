import type { Clock } from '../../../lib/clock.ts';

/** Time for which every look must have found an orphan before it is removed. */
const confirmationSeconds = 60;
/** Pause between two looks meanwhile. */
export const lookSeconds = 20;
/** In that time. Two looks at its ends would not show a break between them. */
const minLooks = 3;
/** After a longer pause, nothing is known of the time between two looks. */
const maxPauseSeconds = 180;

interface Finding {
  readonly since: number;
  readonly looks: number;
}

/**
 * What looks have found in turn, by id. It exists in the memory of the process only: after a restart, the minute
 * begins again.
 */
export class FindingConfirmation {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #seen: ReadonlyMap<string, Finding> = new Map();
  #lastLook = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The last look has found something. */
  get isPending(): boolean {
    return this.#seen.size > 0;
  }

  /** Notes everything that a look has found, and returns what all looks have found for long enough. */
  note(ids: readonly string[]): string[] {
    const now = this.#clock.monotonic();
    if (now - this.#lastLook > maxPauseSeconds * 1000) this.forget();
    this.#lastLook = now;
    this.#seen = new Map(
      ids.map((id) => {
        const { since = now, looks = 0 } = this.#seen.get(id) ?? {};
        return [id, { since, looks: looks + 1 }];
      }),
    );
    const isConfirmed = ({ since, looks }: Finding) => looks >= minLooks && now - since >= confirmationSeconds * 1000;
    return [...this.#seen].filter(([, finding]) => isConfirmed(finding)).map(([id]) => id);
  }

  /** A look that was uncertain is a break. */
  forget(): void {
    this.#seen = new Map();
  }
}
