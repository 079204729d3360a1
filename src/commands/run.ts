import type { RunOptions } from './flags.ts';

/** Runs the controllers until the signal aborts. */
export async function run(_options: RunOptions): Promise<void> {
  throw new Error('run is being written');
}
