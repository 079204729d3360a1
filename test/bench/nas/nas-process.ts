import {
  localNas,
  nasFixture,
  startTrueNasPlatformFixture,
} from '../../platforms/truenas/true-nas-platform-fixture.ts';
import { runSimulatorProcess } from '../simulator-process.ts';
import { largeNasSeed, nasLatencyMs } from './call-counts.ts';

/** An empty NAS. It answers at once until the first request for its report, and with latency after that. */
await runSimulatorProcess(async () => {
  await startTrueNasPlatformFixture({ seed: largeNasSeed });
  const tell = (): object => {
    nasFixture.simulator.setLatency('*', nasLatencyMs);
    return {};
  };
  return { ready: localNas(), tell };
});
