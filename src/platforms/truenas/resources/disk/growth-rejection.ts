import type { Facts } from '../../../../engine/platform.ts';

/** So long TrueNAS is not asked again for what it has refused: room does not come by asking. */
const retryMinutes = 10;

/** That TrueNAS refused to grow a disk, and why. */
export interface GrowthRejection {
  readonly zvol: string;
  readonly words: string;
}

/** As it is written down, a line for each disk. */
export const toGrowthRejectionsFact = (refused: readonly GrowthRejection[], now: Date): Facts => ({
  growthRefused: refused.map(({ zvol, words }) => `${now.toISOString()} ${zvol} ${words}`).join('\n'),
});

/** What was written down of one disk. `fresh` as long as it is not to be tried again. */
export function findGrowthRejection(
  facts: Facts,
  disk: string,
  now: Date,
): { words: string; fresh: boolean } | undefined {
  for (const line of String(facts['growthRefused'] ?? '').split('\n')) {
    const [, at, zvol, words = ''] = /^(\S+) (\S+) (.*)$/.exec(line) ?? [];
    if (zvol !== disk) continue;
    const age = now.getTime() - Date.parse(at ?? '');
    // A clock that was set back must not stretch this.
    return { words, fresh: age >= 0 && age < retryMinutes * 60_000 };
  }
  return undefined;
}
