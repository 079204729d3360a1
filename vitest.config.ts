import { defineConfig } from 'vitest/config';
import { LongTestsFirst } from './test/setup/long-tests-first.ts';
import { SkipReporter } from './test/setup/skip-reporter.ts';

/**
 * For two cores, one of which vitest would leave free by default. Tests of the simulators and of whole flows spend half
 * of their time waiting: for simulated time, for Leases, for other programs. The third worker runs meanwhile.
 */
const maxWorkers = 3;

/**
 * Only for tests that hang. Waiting for other programs and simulated time takes up to a minute on an idle machine, and
 * several times as long on a busy one.
 */
const patience = 400_000;

/** A hook starts what its tests use, and takes as long as they do. */
const within = (testTimeout: number, hookTimeout = testTimeout) => ({
  testTimeout,
  hookTimeout,
  // By default a second, in which a busy machine does little.
  expect: { poll: { timeout: 20_000 } },
});

/** They are one group, so that no worker waits for the last file of the other. */
const flows = { maxWorkers, isolate: false, sequence: { groupOrder: 1 } };

/**
 * `unit` tests are next to the source and need nothing; the others are under test/ and open loopback sockets. Every
 * project only requires Node; a test with a missing requirement skips itself with a sentence.
 */
export default defineConfig({
  test: {
    reporters: ['default', new SkipReporter()],
    sequence: { sequencer: LongTestsFirst },
    projects: [
      { test: { name: 'unit', maxWorkers, isolate: false, include: ['src/**/*.test.ts'], ...within(30_000) } },
      { test: { name: 'contracts', maxWorkers, include: ['test/contracts/**/*.test.ts'], ...within(patience) } },
      {
        test: {
          name: 'world',
          // Loading the simulators takes longest: once for each worker is enough.
          ...flows,
          include: ['test/simulators/**/*.test.ts', 'test/platforms/**/*.test.ts'],
          ...within(patience),
        },
      },
      { test: { name: 'kube', maxWorkers, include: ['test/kube/**/*.test.ts'], ...within(patience) } },
      {
        test: {
          name: 'e2e',
          // Loading the modules takes longer than many tests; no file leaves state behind in a module.
          ...flows,
          include: ['test/e2e/**/*.test.ts'],
          ...within(patience, 600_000),
        },
      },
    ],
  },
});
