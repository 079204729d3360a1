import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { isProviderCall, listLeftovers } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { Testbed } from '../support/testbed/testbed.ts';
import { immediateFaults } from './faults.ts';
import { KillInjector } from './kill-injector.ts';
import { randomNumbers, sweepSeed, trueNasReleaseForRun } from './sampling.ts';
import { eventuallyInSweep } from './scenarios/cluster-lifecycle.ts';

const truenas = trueNasReleaseForRun(0);
/** A thousandth of real time: ten hours of the simulators take 36 s. */
const timeScale = 0.001;
const hours = 10;
/** Simulated time from one action of a user to the next. */
const minutesBetween = 4;
const mostClusters = 20;
/** One in so many calls fails; one in so many is the last of its process. */
const [faultEvery, deathEvery] = [30, 600];

const provider = { leaseSeconds: 45, isRevived: true };
const nas = { memoryMiB: 262_144, pools: [{ name: 'tank', sizeBytes: 2 ** 43 }] };
const draw = randomNumbers('soak');
const ways = Object.values(immediateFaults);

let testbed: Testbed;
let before: string;
const counts = { made: 0, struck: 0, killed: 0, most: 0 };
const dump = (): string => JSON.stringify(testbed.world.truenas.dump(), null, 1);
const refOf = (number: number): NamespacedRef => ({ namespace: 'shop', name: `c${number}` });
const isGone = async (ref: NamespacedRef): Promise<boolean> => !(await testbed.objects.exists(Cluster, ref));

beforeAll(async () => {
  const seeds = { truenas: nas };
  testbed = await Testbed.open({ subnet: '127.42.50', speed: 30, timeScale, provider, seeds, truenas });
  testbed.provider.start();
  const { objects } = testbed;
  await objects.credentials();
  // Every second Cluster has workers.
  await objects.config('alone', { pool: [10, 99] });
  await objects.config('pair', { workers: 1, pool: [100, 199] });
  for (const config of ['alone', 'pair']) {
    const ref = { namespace: 'shop', name: `first-${config}` };
    await objects.cluster(ref, { config });
    await eventuallyInSweep(
      'the first one is ready',
      async () => (await testbed.platform.get(Cluster, ref)).status?.phase === 'Ready',
    );
    await objects.remove(Cluster, ref);
    await eventuallyInSweep('the first one is gone', () => isGone(ref));
  }
  before = dump();
}, 300_000);
afterAll(async () => await testbed?.close());

/** Injects random faults into calls, and kills the process at random calls. */
function disturb(): () => Promise<void> {
  const reaper = new KillInjector(testbed);
  const strike = (call: InterceptedCall): Fault | undefined => {
    if (!isProviderCall(call)) return undefined;
    if (draw(deathEvery) === 0) {
      counts.killed += 1;
      return reaper.strike();
    }
    if (draw(faultEvery) !== 0) return undefined;
    counts.struck += 1;
    return ways[draw(ways.length)]?.strike(call, call.name);
  };
  const calm = testbed.world.switchboard.judge(strike);
  return async () => {
    calm();
    await reaper.settled();
  };
}

/** Creates or deletes a Cluster, in any state. */
async function act(living: Map<number, NamespacedRef>): Promise<void> {
  const { objects } = testbed;
  const mayBeMade = living.size < mostClusters;
  if (mayBeMade && (living.size < 2 || draw(3) > 0)) {
    counts.made += 1;
    const ref = refOf(counts.made);
    await objects.cluster(ref, { config: counts.made % 2 === 0 ? 'alone' : 'pair' });
    living.set(counts.made, ref);
    counts.most = Math.max(counts.most, living.size);
    return;
  }
  const chosen = [...living][draw(living.size)];
  if (!chosen) return;
  await objects.remove(Cluster, chosen[1]);
  living.delete(chosen[0]);
}

/** No object exists twice at any time. */
function expectNoTwins(): void {
  const uuids = testbed.world.truenas.dump().vms.map((vm) => String((vm as { uuid?: string }).uuid));
  expect(uuids.length).toBe(new Set(uuids).size);
}

it(`on TrueNAS ${truenas} random creations and deletions of Clusters for ten hours, with random faults, leave a NAS as before (SWEEP=${sweepSeed})`, {
  timeout: 900_000,
}, async () => {
  const calm = disturb();
  const living = new Map<number, NamespacedRef>();
  const acts = (hours * 60) / minutesBetween;
  for (let done = 0; done < acts; done += 1) {
    await act(living);
    expectNoTwins();
    await pause(minutesBetween * 60_000 * timeScale);
  }
  // The last ones are deleted while faults continue.
  for (const ref of living.values()) await testbed.objects.remove(Cluster, ref);
  await pause(2000);
  await calm();
  const told = `${counts.made} Clusters, ${counts.most} at once; ${counts.struck} calls struck, ${counts.killed} deaths`;
  process.stdout.write(` soaked: ${told}\n`);
  const kept = ['ProviderConfig alone', 'ProviderConfig pair', 'ClusterProfile test.talos.alone'];
  try {
    await eventuallyInSweep('nothing is left of them', async () => {
      expect((await listLeftovers(testbed)).sort()).toEqual([...kept, 'ClusterProfile test.talos.pair'].sort());
      return true;
    });
    expect(dump()).toBe(before);
  } catch (error) {
    throw new Error(`${told}. ${testbed.tail()}`, { cause: error });
  }
  expect([...testbed.faults(), ...findSecretLeaks(testbed)]).toEqual([]);
  expect(Math.min(counts.made - 2 * mostClusters, counts.killed - 2)).toBeGreaterThan(0);
});
