import { Cluster } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { RobotThings } from '../e2e/support/robot-things.ts';
import { Stage } from '../e2e/support/stage.ts';
import { countOf } from './counted.ts';
import { type Figure, ratio } from './figure.ts';

/**
 * What a clean installation by the existing provider asks of Robot: the transcript of one, in which a key is stored and rescue is
 * looked at once, and the two calls with which it lets a server go.
 */
const others = [
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
const othersCount = 13;

const listOf = (calls: Readonly<Record<string, number>>): string =>
  Object.entries(calls)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `\`${name}\` ×${count}`)
    .join(', ');

/** So many control planes, and servers in all: one list tells of all machines that ask at the same time. */
const clusters = [
  { controlPlanes: 1, servers: 1 },
  { controlPlanes: 3, servers: 3 },
  { controlPlanes: 3, servers: 6 },
];

/** What Robot is asked for servers from free to a ready cluster and back. */
export async function measureRobotCalls(say: (line: string) => void): Promise<readonly Figure[]> {
  const servers = Array.from({ length: 6 }, (_, i) => ({ number: 3140601 + i }));
  const seeds = { robot: { network: '127.42.201', servers } };
  const stage = await Stage.open({ subnet: '127.42.202', timeScale: 0.04, speed: 25, seeds });
  try {
    stage.provider.start();
    const robot = await RobotThings.on(stage);
    await robot.credentials();
    for (const { number } of servers) await robot.host(number);
    const figures: Figure[] = [];
    for (const { controlPlanes, servers: count } of clusters) {
      const config = `of-${count}`;
      await robot.config(config, { controlPlanes, workers: count - controlPlanes });
      const live = async (name: string): Promise<void> => {
        const ref = { namespace: 'bench', name };
        await stage.things.cluster(ref, { config });
        const isReady = async () => (await stage.platform.get(Cluster, ref)).status?.phase === 'Ready';
        await eventually('it is ready', isReady, 200);
        await stage.things.remove(Cluster, ref);
        await eventually('it is gone', async () => !(await stage.things.exists(Cluster, ref)), 200);
      };
      if (figures.length === 0) await live('stores-the-key');
      const before = stage.world.robot.calls();
      await live(config);
      const made = since(before, stage.world.robot.calls());
      say(`${count} up and back: ${listOf(made)}`);
      figures.push(callsOf(count, made));
      // Each one is looked at every ten minutes, and the next figure is not about this one.
      await stage.things.remove(ProviderConfig, { name: config });
    }
    return figures;
  } finally {
    await stage.close();
  }
}

const since = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const));

/** One server alone has nobody to share lists with, and no goal. */
function callsOf(count: number, made: Readonly<Record<string, number>>): Figure {
  const ours = countOf(made) / count;
  const what = `Robot calls for each of ${count === 1 ? 'one server' : `${count} servers`} from free to joined and back, ÷ those of the known way`;
  const words = `${ours.toFixed(1)}: ${listOf(made)}; others: ${others.join(', ')}`;
  const figure = ratio(what, ours, othersCount, 0.7, words);
  return count > 1 ? figure : { what, measured: figure.measured, goal: '' };
}
