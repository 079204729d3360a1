import { setTimeout as pause } from 'node:timers/promises';
import type { AccessRequest } from '../../../src/api/openmcp/types.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import type { RecordedVersion } from '../../e2e/support/observation/object-recorder.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { missingForRealKube } from '../../peers/kube-apiserver.ts';
import { eventually } from '../../support/eventually.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { type Benchmark, formatMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { cpuSeconds, residentMiB } from '../process-stats.ts';
import { countApiRequests } from '../request-metrics.ts';
import { awaitNoWrites, type WriteCounter, zeroMeasurement } from '../write-counts.ts';
import {
  createAndAwaitGrants,
  createPendingRequest,
  createTargetCluster,
  hasStartedControllers,
  inParallel,
} from './requests.ts';

const count = 1000;
const metricsAddress = '127.42.203.250:8080';
const countWrites: WriteCounter = async () => (await countApiRequests(metricsAddress)).writes;
const restSeconds = 120;
/** How often the provider reconciles each request. */
const resyncSeconds = 600;
/** New requests, one after the other. */
const samples = 15;

/** Milliseconds from creation to grant, of one request after the other. */
async function measureLatencies(testbed: Testbed, prefix: string, goesOn: (i: number) => boolean): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; goesOn(i); i += 1) {
    const name = `${prefix}-${i}`;
    const startedAt = performance.now();
    await createPendingRequest(testbed, name);
    const isGranted = ({ object }: RecordedVersion): boolean =>
      object.metadata.name === name && (object as AccessRequest).status?.phase === 'Granted';
    await eventually(`${name} is granted`, () => testbed.recorder.sightings.slice(-300).some(isGranted), 60);
    times.push(performance.now() - startedAt);
    await pause(100);
  }
  return times;
}

const names = (prefix: string): string[] => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

/** Makes every token look as if five sixths of its lifetime were over. */
async function ageTokens(testbed: Testbed, prefix: string): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const encode = (seconds: number): string => Buffer.from(String(now + seconds)).toString('base64');
  const data = { creationTimestamp: encode(-25 * 86_400), expirationTimestamp: encode(5 * 86_400) };
  const all = names(prefix);
  await inParallel(count, async (i) => {
    await testbed.platform.merge(Secret, { namespace: 'bench', name: `${all[i]}.kubeconfig` }, { data });
  });
}

/** The provider's work while nothing changes, except for the resync every ten minutes. */
async function measureIdle(
  testbed: Testbed,
): Promise<{ readonly share: number; readonly figures: readonly Measurement[] }> {
  await awaitNoWrites(countWrites);
  const pid = testbed.provider.pid ?? 0;
  const [first, start] = [await countApiRequests(metricsAddress), await cpuSeconds(pid)];
  await pause(restSeconds * 1000);
  const share = ((await cpuSeconds(pid)) - start) / restSeconds;
  const last = await countApiRequests(metricsAddress);
  const figures = [
    zeroMeasurement(`Writes in ${restSeconds} s while idle`, last.writes - first.writes),
    { what: `Reads in ${restSeconds} s while idle`, measured: `${last.reads - first.reads}`, goal: '' },
  ];
  return { share, figures };
}

/** A restart reconciles all requests and writes nothing. Its cost equals that of the resync every ten minutes. */
async function measureRestart(testbed: Testbed, idle: number): Promise<Measurement[]> {
  await testbed.provider.stop();
  const logged = testbed.provider.lines.length;
  testbed.provider.start();
  await eventually('it leads', () => hasStartedControllers(testbed, logged));
  const [pid, startedAt] = [testbed.provider.pid ?? 0, performance.now()];
  const [first, start] = [await countApiRequests(metricsAddress), await cpuSeconds(pid)];
  await awaitNoWrites(countWrites);
  const last = await countApiRequests(metricsAddress);
  const seconds = (await cpuSeconds(pid)) - start - (idle * (performance.now() - startedAt)) / 1000;
  const share = idle + seconds / resyncSeconds;
  const percent = (value: number): string => `${(value * 100).toFixed(2)} %`;
  return [
    zeroMeasurement('Writes after a restart', last.writes),
    { what: 'Reads to check each of them', measured: `${last.reads - first.reads}`, goal: '' },
    {
      what: 'Processor time while idle, of a core, with a check of each every ten minutes',
      measured: `${percent(share)} (${percent(idle)} and ${seconds.toFixed(1)} s for the checks)`,
      goal: '< 1 %',
      reached: share < 0.01,
    },
  ];
}

async function measureRenewal(testbed: Testbed, say: (line: string) => void): Promise<Measurement> {
  const idle = median(await measureLatencies(testbed, 'idle', (i) => i < samples));
  await testbed.provider.stop();
  await ageTokens(testbed, 'ours');
  const logged = testbed.provider.lines.length;
  const tokens = (): number =>
    testbed.provider.lines.slice(logged).filter((line) => /access granted.*"ours-|"ours-.*access granted/.test(line))
      .length;
  testbed.provider.start();
  await eventually('renewals are under way', () => tokens() > 20, 60);
  const startedAt = performance.now();
  const busy = await measureLatencies(testbed, 'busy', (i) => i < samples && tokens() < count);
  say(
    `${busy.length} new requests while ${tokens()} tokens were renewed: ${busy.map((time) => time.toFixed(0)).join(', ')} ms`,
  );
  await eventually('all are renewed', () => tokens() >= count, 300);
  say(`all are renewed ${((performance.now() - startedAt) / 1000).toFixed(0)} s later`);
  const what = `A new request while ${count} tokens are due at once ÷ while nothing is`;
  return ratioMeasurement(what, median(busy), idle, 2, `${formatMs(median(busy))} ÷ ${formatMs(idle)}, medians`);
}

/** A thousand granted requests on real API servers, with little or nothing to do. */
export const manyRequestsBenchmark: Benchmark = {
  name: `${count} AccessRequests`,
  missing: missingForRealKube(true) ?? missingForRealWorkload(),
  async measure(say) {
    const testbed = await Testbed.open({
      subnet: '127.42.203',
      platform: 'real',
      workload: 'real',
      provider: { asProgram: { speed: 1, verbosity: 'info', metrics: metricsAddress } },
    });
    try {
      testbed.provider.start();
      await createTargetCluster(testbed);
      await createAndAwaitGrants(testbed, 50, 'before');
      await awaitNoWrites(countWrites);
      const before = await residentMiB(testbed.provider.pid ?? 0);
      await createAndAwaitGrants(testbed, count, 'ours');
      const { share, figures } = await measureIdle(testbed);
      const memory = await residentMiB(testbed.provider.pid ?? 0);
      const resident = {
        what: `Resident memory, and how much of it came with ${count} requests`,
        measured: `${memory.toFixed(0)} MiB, ${(memory - before).toFixed(0)} MiB`,
        goal: '',
      };
      return [...figures, resident, ...(await measureRestart(testbed, share)), await measureRenewal(testbed, say)];
    } catch (error) {
      process.stderr.write(testbed.tail());
      throw error;
    } finally {
      await testbed.close();
    }
  },
};
