import {
  localNas,
  nasFixture,
  startTrueNasPlatformFixture,
} from '../../platforms/truenas/true-nas-platform-fixture.ts';
import { runSimulatorProcess } from '../simulator-process.ts';
import { largeNasSeed, nasLatencyMs } from './call-counts.ts';

/** A NAS that has nothing yet. It answers at once until it is asked for the first time, and from then on each call takes its time. */
await runSimulatorProcess(async () => {
  await startTrueNasPlatformFixture({ seed: largeNasSeed });
  const tell = (): object => {
    nasFixture.room.setLatency('*', nasLatencyMs);
    return {};
  };
  return { ready: localNas(), tell };
});
