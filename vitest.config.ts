import { defineConfig } from 'vitest/config';
import { LongTestsFirst } from './test/setup/long-tests-first.ts';
import { SkipReporter } from './test/setup/skip-reporter.ts';

/**
 * Of two cores, which vitest by itself would leave one of to whoever watches. Tests of the world and of whole flows wait for half
 * of their time: for seconds of the world, for Leases, for other programs. The third works meanwhile.
 */
const maxWorkers = 3;

/**
 * Only for what hangs. What waits for other programs and for seconds of the world takes up to ten seconds on a machine at rest,
 * and several times as much on one that others work on, too.
 */
const patience = 120_000;

/** They are one group, so that no worker waits for the last file of the other. */
const flows = { maxWorkers, isolate: false, sequence: { groupOrder: 1 } };

/**
 * `unit` lives beside the source and needs nothing; the others live under test/ and open loopback sockets.
 * Every project runs on Node alone; what a machine lacks is skipped by the test itself, with a sentence.
 */
export default defineConfig({
  test: {
    reporters: ['default', new SkipReporter()],
    sequence: { sequencer: LongTestsFirst },
    projects: [
      { test: { name: 'unit', maxWorkers, isolate: false, include: ['src/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'contracts', maxWorkers, include: ['test/contracts/**/*.test.ts'], testTimeout: patience } },
      {
        test: {
          name: 'world',
          // What takes longest is to load the rooms: once for each worker is enough.
          ...flows,
          include: ['test/world/**/*.test.ts', 'test/platforms/**/*.test.ts'],
          testTimeout: patience,
        },
      },
      { test: { name: 'kube', maxWorkers, include: ['test/kube/**/*.test.ts'], testTimeout: patience } },
      {
        test: {
          name: 'e2e',
          // Loading everything takes longer than many a test; no file leaves anything behind in a module.
          ...flows,
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: patience,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
