import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Testbed, type TestbedOptions } from './testbed.ts';

/**
 * One stage for all tests of a file, with the provider running unless the stage is bare. A test that fails prints the end of its log.
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

/** What all tests of a file begin with. When it fails, the end of the log is printed, as for a test. */
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
