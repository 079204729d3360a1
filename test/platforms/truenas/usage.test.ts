import { expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { testedReleases } from './baseline-run.ts';
import {
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;

it.each(testedReleases)('what is left of a system are its memory and its pools, on TrueNAS %s', async (version) => {
  await startTrueNasPlatformFixture({ version });
  const process = new TrueNasProviderProcess();
  const read = async () => await truenas.usage?.read({ ...process.context('shop-cp-0', {}), failureDomain: undefined });
  const before = await read();
  const { pool, sizes } = platformConfig();
  expect(before?.volumes).toMatchObject([{ name: pool, isHealthy: true }]);
  await process.walk('provision', 'shop-cp-0', { progress: undefined });
  const after = await read();
  const [was, is] = [before?.volumes[0], after?.volumes[0]];
  const taken = (was?.availableBytes ?? 0) - (is?.availableBytes ?? 0);
  expect(taken).toBeGreaterThanOrEqual((sizes[0]?.diskGiB ?? 0) * gibibyte);
  expect(is?.totalBytes).toBe(was?.totalBytes);
  const memory = (before?.memory?.availableBytes ?? 0) - (after?.memory?.availableBytes ?? 0);
  // A new machine has not touched all of its memory yet.
  expect(memory).toBeGreaterThan(0.5 * (sizes[0]?.memoryMiB ?? 0) * 2 ** 20);
});
