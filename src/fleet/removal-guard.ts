import type { Clock } from '../lib/clock.ts';

/** When a list of an inventory is too different from what is known to be believed at once. */
export interface RemovalGuardOptions {
  /** Fewer known clusters than this are not guarded; default 5. */
  readonly minClusters?: number;
  /** A list that lacks a larger share of the known clusters is uncertain; default 80. */
  readonly maxLossPercent?: number;
  /** A list that is uncertain so long after the first one in a row is believed; default 60. 0: every list is believed. */
  readonly confirmSeconds?: number;
}

export interface InventoryLoss {
  readonly known: number;
  readonly missing: number;
  /** Seconds since the first of the lists in a row that were uncertain. */
  readonly uncertainSeconds: number | undefined;
}

export function decideInventoryLoss(loss: InventoryLoss, options: RemovalGuardOptions): 'believed' | 'uncertain' {
  const { minClusters = 5, maxLossPercent = 80, confirmSeconds = 60 } = options;
  const { known, missing, uncertainSeconds } = loss;
  if (known < minClusters || (100 * missing) / known <= maxLossPercent) return 'believed';
  return (uncertainSeconds ?? 0) >= confirmSeconds ? 'believed' : 'uncertain';
}

/**
 * Keeps clusters that a list of the inventory suddenly lacks. An API server that was restored, or another one behind the
 * same address, answers with such a list. A removal that a watch reports is not guarded.
 */
export class RemovalGuard {
  readonly #clock: Clock;
  readonly #options: RemovalGuardOptions;
  #uncertainSince: number | undefined;

  constructor(clock: Clock, options: RemovalGuardOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** `uncertain`: the clusters stay; the first of such lists in a row. `still-uncertain`: a further one. */
  check({ known, missing }: Pick<InventoryLoss, 'known' | 'missing'>): 'believed' | 'uncertain' | 'still-uncertain' {
    const now = this.#clock.monotonic();
    const uncertainSince = this.#uncertainSince;
    const uncertainSeconds = uncertainSince === undefined ? undefined : (now - uncertainSince) / 1000;
    const isBelieved = decideInventoryLoss({ known, missing, uncertainSeconds }, this.#options) === 'believed';
    this.#uncertainSince = isBelieved ? undefined : (uncertainSince ?? now);
    if (isBelieved) return 'believed';
    return uncertainSince === undefined ? 'uncertain' : 'still-uncertain';
  }
}
