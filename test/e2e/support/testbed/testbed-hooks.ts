import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Testbed, type TestbedOptions } from './testbed.ts';

/**
 * One testbed for all tests of a file, with the provider running unless the testbed is bare. A failed test prints the
 * end of its log.
 */
export function startTestbed(options: TestbedOptions): () => Testbed {
  let testbed: Testbed | undefined;
  beforeAll(async () => {
    testbed = await Testbed.open(options);
    if (!options.isBare) testbed.provider.start();
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(testbed?.tail() ?? '');
    });
  });
  afterAll(async () => await testbed?.close());
  return () => {
    if (!testbed) throw new Error('the stage did not open');
    return testbed;
  };
}

/** The setup of all tests of a file. When it fails, it prints the end of the log, as a test does. */
export function prepareTestbed(open: () => Testbed, work: (testbed: Testbed) => Promise<void>): void {
  beforeAll(async () => {
    const testbed = open();
    try {
      await work(testbed);
    } catch (error) {
      process.stderr.write(testbed.tail());
      throw error;
    }
  });
}
