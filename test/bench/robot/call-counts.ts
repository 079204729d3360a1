import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { RobotTestObjects } from '../../e2e/support/objects/robot-test-objects.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { type Measurement, ratioMeasurement } from '../measurement.ts';
import { sumCounts } from '../request-metrics.ts';

/**
 * The calls to Robot in a clean installation by the existing provider, from a transcript in which a key is stored and
 * the rescue state is checked once, and its two calls to release a server.
 */
const referenceCalls = [
  'GET /server',
  'GET /key',
  'POST /key',
  'GET /boot ×2',
  'GET /reset',
  'DELETE /boot ×2',
  'POST /boot',
  'POST /reset',
  'POST /server',
  'POST /boot',
  'POST /reset',
];
const referenceCallCount = 13;

const formatCounts = (calls: Readonly<Record<string, number>>): string =>
  Object.entries(calls)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `\`${name}\` ×${count}`)
    .join(', ');

/** Numbers of control planes, and of servers in all: one list call serves all machines that ask at the same time. */
const clusterSizes = [
  { controlPlanes: 1, servers: 1 },
  { controlPlanes: 3, servers: 3 },
  { controlPlanes: 3, servers: 6 },
];

/** Calls to Robot for servers from free to a ready cluster and back. */
export async function measureRobotCalls(say: (line: string) => void): Promise<readonly Measurement[]> {
  const servers = Array.from({ length: 6 }, (_, i) => ({ number: 3140601 + i }));
  const seeds = { robot: { network: '127.42.201', servers } };
  const testbed = await Testbed.open({ subnet: '127.42.202', timeScale: 0.04, speed: 25, seeds });
  try {
    testbed.provider.start();
    const robot = await RobotTestObjects.on(testbed);
    await robot.credentials();
    for (const { number } of servers) await robot.host(number);
    const figures: Measurement[] = [];
    for (const { controlPlanes, servers: count } of clusterSizes) {
      const config = `of-${count}`;
      await robot.config(config, { controlPlanes, workers: count - controlPlanes });
      const live = async (name: string): Promise<void> => {
        const ref = { namespace: 'bench', name };
        await testbed.objects.cluster(ref, { config });
        const isReady = async () => (await testbed.platform.get(Cluster, ref)).status?.phase === 'Ready';
        await eventually('it is ready', isReady, 200);
        await testbed.objects.remove(Cluster, ref);
        await eventually('it is gone', async () => !(await testbed.objects.exists(Cluster, ref)), 200);
      };
      if (figures.length === 0) await live('stores-the-key');
      const before = testbed.world.robot.calls();
      await live(config);
      const made = countsSince(before, testbed.world.robot.calls());
      say(`${count} up and back: ${formatCounts(made)}`);
      figures.push(callMeasurement(count, made));
      // Each ProviderConfig is reconciled every ten minutes, which would count towards the next measurement.
      await testbed.objects.remove(ProviderConfig, { name: config });
    }
    return figures;
  } finally {
    await testbed.close();
  }
}

const countsSince = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const));

/** A single server has no other to share list calls with, and no goal. */
function callMeasurement(count: number, made: Readonly<Record<string, number>>): Measurement {
  const ours = sumCounts(made) / count;
  const what = `Robot calls for each of ${count === 1 ? 'one server' : `${count} servers`} from free to joined and back, ÷ those of the reference provider`;
  const words = `${ours.toFixed(1)}: ${formatCounts(made)}; others: ${referenceCalls.join(', ')}`;
  const figure = ratioMeasurement(what, ours, referenceCallCount, 0.7, words);
  return count > 1 ? figure : { what, measured: figure.measured, goal: '' };
}
