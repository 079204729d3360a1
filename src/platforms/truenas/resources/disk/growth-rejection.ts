import type { Facts } from '../../../../engine/step.ts';

/** Retry interval after TrueNAS refused to grow a disk. */
const retryMinutes = 10;

/** A refusal of TrueNAS to grow a disk, with its reason. */
export interface GrowthRejection {
  readonly zvol: string;
  readonly message: string;
}

/** The format of the fact: a line for each disk. */
export const toGrowthRejectionsFact = (refused: readonly GrowthRejection[], now: Date): Facts => ({
  growthRefused: refused.map(({ zvol, message }) => `${now.toISOString()} ${zvol} ${message}`).join('\n'),
});

/** The recorded refusal of one disk; `fresh` until it may be retried. */
export function findGrowthRejection(
  facts: Facts,
  disk: string,
  now: Date,
): { words: string; fresh: boolean } | undefined {
  for (const line of String(facts['growthRefused'] ?? '').split('\n')) {
    const [, at, zvol, text = ''] = /^(\S+) (\S+) (.*)$/.exec(line) ?? [];
    if (zvol !== disk) continue;
    const age = now.getTime() - Date.parse(at ?? '');
    // A clock that was set back must not extend the interval.
    return { words: text, fresh: age >= 0 && age < retryMinutes * 60_000 };
  }
  return undefined;
}
