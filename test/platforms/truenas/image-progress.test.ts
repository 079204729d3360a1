import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import {
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

it('T9: a Machine reports the progress of its image: the uploaded part, and the part that the system has written', async () => {
  await startTrueNasPlatformFixture({ seed: { latencies: { 'filesystem.put': 400 } } });
  const step = truenas.provision.find(({ name }) => name === 'image-cached');
  const process = new TrueNasProviderProcess();
  const told = new Set<string>();
  for (;;) {
    const outcome = await step!.run(process.context('shop-cp-0', {}));
    if (outcome.kind !== 'wait') {
      expect(outcome.kind).toBe('done');
      break;
    }
    told.add(outcome.message.replace(/\d+ %/, 'N %'));
    await delay(5);
  }
  expect([...told]).toContain('The boot image is being copied from the image factory to the TrueNAS system.');
  expect([...told]).toContain('The boot image is being written by the TrueNAS system: N %.');
});
