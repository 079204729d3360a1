import type { Bench } from './figure.ts';
import { measureNasCalls } from './nas-calls.ts';
import { measureNasRush } from './nas-rush.ts';

/** What virtual machines cost at TrueNAS. */
export const nas: Bench = {
  name: 'Virtual machines',
  async measure(say) {
    return [...(await measureNasCalls(say)), await measureNasRush()];
  },
};
