import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Testbed, type TestbedOptions } from './testbed.ts';

/**
 * One testbed for all tests of a file, with the provider running unless the testbed is bare. A failed test prints the
 * end of its log.
 */
export function startTestbed(options: TestbedOptions): () => Testbed {
  let stage: Testbed | undefined;
  beforeAll(async () => {
    stage = await Testbed.open(options);
    if (!options.isBare) stage.provider.start();
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(stage?.tail() ?? '');
    });
  });
  afterAll(async () => await stage?.close());
  return () => {
    if (!stage) throw new Error('the stage did not open');
    return stage;
  };
}

/** The setup of all tests of a file. When it fails, it prints the end of the log, as a test does. */
export function prepareTestbed(open: () => Testbed, work: (stage: Testbed) => Promise<void>): void {
  beforeAll(async () => {
    const stage = open();
    try {
      await work(stage);
    } catch (error) {
      process.stderr.write(stage.tail());
      throw error;
    }
  });
}
