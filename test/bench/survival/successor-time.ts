import { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { elapsedMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';

const ref: NamespacedRef = { namespace: 'bench', name: 'worn' };
const turns = 3;
/** Waits of the provider and simulated times are shorter by the same factor. */
const speed = 50;

/** From the decision that a dead worker is replaced to its ready successor, and from the wish for one more worker to it. */
export async function measureSuccessor(say: (line: string) => void): Promise<readonly Measurement[]> {
  const testbed = await Testbed.open({ subnet: '127.42.254', timeScale: 1 / speed, speed });
  try {
    await startWorkers(testbed);
    const successor: number[] = [];
    const added: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      added.push((await timeOfScaleUp(testbed, turn + 2)) * speed);
      successor.push((await timeOfReplacement(testbed, turn)) * speed);
      say(
        `one more worker ${added.at(-1)?.toFixed(0)} s, the successor of a dead one ${successor.at(-1)?.toFixed(0)} s`,
      );
    }
    const words = `${median(successor).toFixed(0)} s ÷ ${median(added).toFixed(0)} s of simulated time, medians of ${turns}`;
    const what = 'From the decision to replace a dead worker to its ready successor ÷ a new worker';
    return [ratioMeasurement(what, median(successor), median(added), 1.2, words)];
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

async function startWorkers(testbed: Testbed): Promise<void> {
  const { objects } = testbed;
  testbed.provider.start();
  await objects.credentials();
  const limits = { minReplicas: 1, maxReplicas: 9 };
  await objects.config('worn', {
    workers: 1,
    change: (spec) => {
      Object.assign(spec.workerPools?.[0] ?? {}, limits);
      Object.assign(spec, { remediation: { unhealthyMinutes: 1 } });
    },
  });
  await objects.cluster(ref, { config: 'worn' });
  const isReady = async () => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the cluster is ready', isReady, 120);
}

const workersOf = async ({ objects }: Testbed): Promise<readonly Machine[]> =>
  (await objects.machines(ref)).filter(({ spec }) => spec.role === 'worker');
const isWhole = ({ status, metadata }: Machine): boolean =>
  status?.phase === 'Ready' && metadata.deletionTimestamp === undefined;

/** Seconds until the pool has this number of ready nodes. */
async function timeOfScaleUp(testbed: Testbed, replicas: number): Promise<number> {
  const { platform } = testbed;
  const [pool] = (await platform.list(NodePool)).items;
  return await secondsOf(async () => {
    await platform.merge(NodePool, { name: pool?.metadata.name ?? '' }, { spec: { replicas } }, {});
    await eventually(
      'the pool has grown',
      async () => (await workersOf(testbed)).filter(isWhole).length === replicas,
      120,
    );
  });
}

/** Seconds from the request to replace a node, whose machine is dead, until another Machine of its name is ready. */
async function timeOfReplacement(testbed: Testbed, slot: number): Promise<number> {
  const { platform, world } = testbed;
  const dead = (await workersOf(testbed)).find(({ spec }) => spec.slot === slot);
  if (!dead) throw new Error(`no worker has slot ${slot}`);
  const { name, uid } = dead.metadata;
  const node = world.machines.nodes().find(({ hostname }) => hostname === name);
  world.machines.hang(node?.name ?? '', true);
  const current = async () => (await workersOf(testbed)).find(({ metadata }) => metadata.name === name);
  await eventually(
    'the node is known to be unhealthy',
    async () =>
      (await current())?.status?.conditions.some(({ type, status }) => type === 'NodeHealthy' && status === 'False'),
    180,
  );
  return await secondsOf(async () => {
    await platform.merge(Machine, { name }, { metadata: { annotations: { [annotations.remediate]: 'replace' } } }, {});
    await eventually(
      'its successor is ready',
      async () => {
        const machine = await current();
        return machine !== undefined && machine.metadata.uid !== uid && isWhole(machine);
      },
      180,
    );
  });
}

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => (await elapsedMs(work)) / 1000;
