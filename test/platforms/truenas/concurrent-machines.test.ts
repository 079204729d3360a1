import { expect, it } from 'vitest';
import {
  dumpNas,
  dumpWithoutImageCache,
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

it('machines that look at the same time look together, and each sees what it did itself', async () => {
  await startTrueNasPlatformFixture({ seed: { memoryMiB: 262_144 } });
  const process = new TrueNasProviderProcess();
  await process.walk('provision', 'first', { progress: undefined });
  const before = dumpNas().vms.length;
  const asked = (): number => nasFixture.switchboard.calls.filter(({ name }) => name.endsWith('.query')).length;
  const alone = asked();
  const empty = dumpWithoutImageCache();
  // As far away as a real one, so that all of them ask before one of them is answered.
  nasFixture.room.setLatency('*', 20);
  const names = Array.from({ length: 8 }, (_, i) => `of-eight-${i}`);
  const records = names.map((name) => [name, { progress: undefined } as MachineRecord] as const);
  await Promise.all(records.map(([name, durable]) => process.walk('provision', name, durable)));
  expect(dumpNas().vms.length).toBe(before + names.length);
  await Promise.all(records.map(([name, durable]) => process.walk('release', name, durable)));
  expect(dumpWithoutImageCache()).toEqual(empty);
  // Each by itself would ask more often up and back than the first one did on its way up.
  expect(asked() - alone).toBeLessThan(names.length * alone);
});
