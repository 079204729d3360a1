import { expect } from 'vitest';
import { z } from 'zod';
import type { Clock } from '../../../src/lib/clock.ts';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { connectTrueNas } from '../../../src/platforms/truenas/api/client.ts';
import { SystemInformer } from '../../../src/platforms/truenas/cache/system-informer.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config/config.ts';
import { waitUntilHolds } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { trueNasReleases } from '../../support/fixtures/truenas-releases.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import {
  dumpNas,
  fixtureClock,
  type MachineRecord,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
} from './true-nas-platform-fixture.ts';

/** Every supported release is tested. */
export const testedReleases = trueNasReleases;

/** A lifecycle without faults: the state before and after, the created objects, and its TrueNAS calls. */
export interface BaselineRun {
  readonly empty: string;
  readonly made: string;
  readonly provision: readonly string[];
  readonly release: readonly string[];
}

/** Records the node as a member of the cluster: it is asked to shut down before its deletion. */
export function markJoined(durable: MachineRecord): void {
  if (durable.progress) durable.progress = { ...durable.progress, facts: { ...durable.progress.facts, joined: true } };
}

/** By this clock no value that a step passes on expires, so that every run needs the fewest calls. */
export const clockWithoutExpiry: Clock = { ...fixtureClock, monotonic: () => performance.now() };

/** Starts a NAS of that release with a cached boot image, and runs a lifecycle on it. */
export async function recordBaselineRun(version: string, { joins = false } = {}): Promise<BaselineRun> {
  await startTrueNasPlatformFixture({ version });
  const first: MachineRecord = { progress: undefined };
  await new TrueNasProviderProcess().walk('provision', 'warm-up', first);
  await new TrueNasProviderProcess().walk('release', 'warm-up', first);
  const empty = toJsonText(dumpNas());
  const durable: MachineRecord = { progress: undefined };
  const provision = await callNamesDuring(() =>
    new TrueNasProviderProcess(clockWithoutExpiry).walk('provision', 'shop-cp-0', durable),
  );
  const made = toJsonText(stateSummary());
  if (joins) markJoined(durable);
  const release = await callNamesDuring(() =>
    new TrueNasProviderProcess(clockWithoutExpiry).walk('release', 'shop-cp-0', durable),
  );
  expect(toJsonText(dumpNas())).toBe(empty);
  return { empty, made, provision, release };
}

async function callNamesDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  const calls: InterceptedCall[] = [];
  const hush = nasFixture.switchboard.onCall((one) => void calls.push(one));
  await work();
  hush();
  // Heartbeats and polls of a long job depend on time.
  return calls
    .filter(({ name, simulator }) => simulator === 'truenas' && !/^core\.(ping|get_jobs)$/.test(name))
    .map(({ name }) => name);
}

/** Subscribes the process to change events, as the provider does as soon as any machine is idle. */
export async function subscribeToChanges(process: TrueNasProviderProcess): Promise<void> {
  const nas = connectTrueNas({ ...process.context('none', {}), config: TrueNasConfig.parse(platformConfig()) });
  let isTold = false;
  SystemInformer.of(nas).listen(() => {
    isTold = true;
  });
  await nas.read('core.ping', [], z.unknown(), { signal: deadlineSignal(10) });
  await waitUntilHolds(() => isTold, 'it listens');
}

/** The record of a machine whose process ended at the start of that step, before its first call. */
export async function provisionUpTo(step: string, machine = 'shop-cp-0', change: object = {}): Promise<MachineRecord> {
  const process = new TrueNasProviderProcess();
  const durable: MachineRecord = { progress: undefined };
  const watched: MachineRecord = {
    get progress() {
      return durable.progress;
    },
    set progress(progress) {
      durable.progress = progress;
      if (progress?.step === step) void process.kill();
    },
  };
  await process.walk('provision', machine, watched, change).catch(() => {});
  expect(durable.progress?.step).toBe(step);
  return durable;
}
