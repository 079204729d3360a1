import { systemClock } from '../../../src/lib/clock.ts';
import { markJoined } from '../../platforms/truenas/baseline-run.ts';
import {
  type MachineRecord,
  nasFixture,
  startTrueNasPlatformFixture,
  stopTrueNasPlatformFixture,
  TrueNasProviderProcess,
} from '../../platforms/truenas/true-nas-platform-fixture.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { type Measurement, ratioMeasurement } from '../measurement.ts';
import { prepareReferenceProvider, runReferenceProvider } from './reference-provider.ts';

/** A NAS that is large enough for all measurements. */
export const largeNasSeed = { memoryMiB: 524_288, pools: [{ name: 'tank', sizeBytes: 2 ** 43 }] };

/** The duration of every call to the NAS, in real time. */
export const nasLatencyMs = 100;

/** Numbers of machines that are created at the same time. */
const machineCounts = [1, 3, 6];

/**
 * Calls per machine from nothing to a cluster member and back, with an existing image, ÷ those of the reference
 * provider.
 */
export async function measureNasCalls(say: (line: string) => void): Promise<readonly Measurement[]> {
  const theirs = await referenceCalls();
  say(`the reference provider: ${theirs.join(', ')}`);
  const figures: Measurement[] = [];
  for (const count of machineCounts) {
    await startTrueNasPlatformFixture({ seed: largeNasSeed });
    try {
      const process = new TrueNasProviderProcess(systemClock);
      await provisionAndRelease(process, ['warm-up']);
      nasFixture.simulator.setLatency('*', nasLatencyMs);
      const names = Array.from({ length: count }, (_, i) => `of-${count}-${i}`);
      const calls = await callsDuring(() => provisionAndRelease(process, names));
      const each = calls.length / count;
      say(`${count} at a time: ${formatCounts(calls)}`);
      const whose = count === 1 ? 'one machine alone' : `each of ${count} machines at a time`;
      const words = `${each.toFixed(1)} ÷ ${theirs.length}: ${formatCounts(calls)}`;
      const what = `TrueNAS calls for ${whose}, from nothing to a member and back, ÷ those of the reference provider`;
      figures.push(ratioMeasurement(what, each, theirs.length, 0.7, words));
    } finally {
      await stopTrueNasPlatformFixture();
    }
  }
  return figures;
}

async function provisionAndRelease(process: TrueNasProviderProcess, names: readonly string[]): Promise<void> {
  const durables = names.map((name) => ({ name, durable: { progress: undefined } as MachineRecord }));
  await Promise.all(durables.map(({ name, durable }) => process.walk('provision', name, durable)));
  for (const { durable } of durables) markJoined(durable);
  await Promise.all(durables.map(({ name, durable }) => process.walk('release', name, durable)));
}

async function referenceCalls(): Promise<readonly string[]> {
  await startTrueNasPlatformFixture({ seed: largeNasSeed });
  try {
    const client = await nasFixture.login();
    await prepareReferenceProvider(client, nasFixture.upload);
    await runReferenceProvider(client, 'warm_up');
    return await callsDuring(() => runReferenceProvider(client, 'counted'));
  } finally {
    await stopTrueNasPlatformFixture();
  }
}

/** Names of the calls to the NAS meanwhile, except for logins, heartbeats, and polls of running jobs. */
async function callsDuring(work: () => Promise<void>): Promise<readonly string[]> {
  const calls: InterceptedCall[] = [];
  const hush = nasFixture.switchboard.onCall((call) => void calls.push(call));
  await work();
  hush();
  const names = calls.filter((call) => call.simulator === 'truenas').map(({ name }) => name);
  return names.filter((name) => !/^(auth\.|core\.)/.test(name));
}

function formatCounts(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? `\`${name}\`` : `\`${name}\` ×${count}`)).join(', ');
}
