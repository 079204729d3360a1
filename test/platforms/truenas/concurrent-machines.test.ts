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

it('concurrent observations of machines share calls, and each machine observes its own changes', async () => {
  await startTrueNasPlatformFixture({ seed: { memoryMiB: 262_144 } });
  const process = new TrueNasProviderProcess();
  await process.walk('provision', 'first', { progress: undefined });
  const before = dumpNas().vms.length;
  const asked = (): number => nasFixture.switchboard.calls.filter(({ name }) => name.endsWith('.query')).length;
  const alone = asked();
  const empty = dumpWithoutImageCache();
  // The latency of a remote system, so that all calls are made before the first reply.
  nasFixture.simulator.setLatency('*', 20);
  const names = Array.from({ length: 8 }, (_, i) => `of-eight-${i}`);
  const records = names.map((name) => [name, { progress: undefined } as MachineRecord] as const);
  await Promise.all(records.map(([name, durable]) => process.walk('provision', name, durable)));
  expect(dumpNas().vms.length).toBe(before + names.length);
  await Promise.all(records.map(([name, durable]) => process.walk('release', name, durable)));
  expect(dumpWithoutImageCache()).toEqual(empty);
  // Without sharing, the creation and release of each machine take more calls than the creation of the first one.
  expect(asked() - alone).toBeLessThan(names.length * alone);
});
