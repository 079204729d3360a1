import { defineConfig } from 'vitest/config';
import { WhySkipped } from './test/setup/reporter.ts';
import { LongFirst } from './test/setup/sequencer.ts';

/** By itself vitest leaves a core to whoever watches. */
const maxWorkers = 2;

/**
 * `unit` lives beside the source and needs nothing; the others live under test/ and open loopback sockets.
 * Every project runs on Node alone; what a machine lacks is skipped by the test itself, with a sentence.
 */
export default defineConfig({
  test: {
    reporters: ['default', new WhySkipped()],
    sequence: { sequencer: LongFirst },
    projects: [
      { test: { name: 'unit', maxWorkers, isolate: false, include: ['src/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'contracts', maxWorkers, include: ['test/contracts/**/*.test.ts'], testTimeout: 120_000 } },
      {
        test: {
          name: 'world',
          maxWorkers,
          // What takes longest is to load the rooms: once for each worker is enough.
          isolate: false,
          sequence: { groupOrder: 1 },
          include: ['test/world/**/*.test.ts'],
          testTimeout: 30_000,
        },
      },
      { test: { name: 'kube', maxWorkers, include: ['test/kube/**/*.test.ts'], testTimeout: 30_000 } },
      {
        test: {
          name: 'e2e',
          maxWorkers,
          // Loading everything takes longer than many a test; no file leaves anything behind in a module.
          isolate: false,
          sequence: { groupOrder: 2 },
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
