import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { identityOnNas } from '../../e2e/support/access/nas.ts';
import { WallClock } from '../../e2e/support/provider-process/wall-clock.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { type Measurement, median, ratioMeasurement } from '../measurement.ts';

const runs = 3;
const workers = 2;
const unhealthyMinutes = 5;
const ref: NamespacedRef = { namespace: 'bench', name: 'repaired' };
const pool = (replicas: number): object => ({ workerPools: [{ name: 'work', replicas, size: 'small' }] });

/** What the runs share. */
interface RepairBench {
  readonly testbed: Testbed;
  /** Lets minutes pass for the dates of the provider. Its waits, and the world, take the time that they take. */
  pass(minutes: number): void;
  say(line: string): void;
}

/** The time from the decision to replace a dead worker until its successor is ready, compared with any new worker. */
export async function measureDeadWorkers(say: (line: string) => void): Promise<readonly Measurement[]> {
  const testbed = await Testbed.open({ subnet: '127.43.30', timeScale: 0.02, speed: 10 });
  const wallClock = new WallClock();
  let passed = 0;
  const pass = (minutes: number): void => {
    passed += minutes;
    wallClock.set(passed / 60);
  };
  const bench: RepairBench = { testbed, pass, say };
  try {
    wallClock.within(() => testbed.provider.start());
    await createCluster(bench);
    const created: number[] = [];
    const succeeded: number[] = [];
    for (let run = 1; run <= runs; run += 1) {
      created.push(await addWorker(bench));
      succeeded.push(await loseWorker(bench));
      say(`run ${run}: a new worker ${seconds(created.at(-1))}, a successor ${seconds(succeeded.at(-1))}`);
    }
    const [ours, theirs] = [median(succeeded), median(created)];
    const what =
      'A dead worker on TrueNAS, from the decision to replace it, after unhealthyMinutes and a restart in vain, to its ready successor ÷ a new worker, from creation to ready';
    return [ratioMeasurement(what, ours, theirs, 1.2, `${seconds(ours)} ÷ ${seconds(theirs)}, medians of ${runs}`)];
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

const seconds = (ms = 0): string => `${(ms / 1000).toFixed(2)} s`;

async function createCluster({ testbed: { objects }, say }: RepairBench): Promise<void> {
  await objects.credentials();
  await objects.config('home', {
    workers,
    change: (spec) => Object.assign(spec, { remediation: { strategy: 'Replace', unhealthyMinutes } }),
  });
  await objects.cluster(ref);
  await awaitRest({ objects }, workers);
  say('the cluster is ready');
}

/** Until as many workers are ready, and no Machine comes or goes. */
async function awaitRest({ objects }: Pick<Testbed, 'objects'>, count: number): Promise<void> {
  const isAtRest = async (): Promise<boolean> => {
    const machines = await objects.machines(ref);
    const { status } = await objects.getCluster(ref);
    return (
      machines.length === count + 1 &&
      machines.every((one) => !one.metadata.deletionTimestamp && isReady(one)) &&
      isConditionTrue(status?.conditions, 'NodesHealthy')
    );
  };
  await eventually(`${count} workers are ready`, isAtRest, 300);
}

const isReady = ({ status }: Machine): boolean => isConditionTrue(status?.conditions, 'Ready');

/** Milliseconds from the creation of one more worker until it is ready. It is removed again. */
async function addWorker({ testbed }: RepairBench): Promise<number> {
  const { objects, platform } = testbed;
  const before = await namesOf(testbed);
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: pool(workers + 1) });
  await awaitRest(testbed, workers + 1);
  const [added] = (await objects.machines(ref)).filter(({ metadata }) => !before.has(metadata.name));
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: pool(workers) });
  await awaitRest(testbed, workers);
  const { created, ready } = timesOf(testbed, added);
  return ready - created;
}

/** Milliseconds from the decision to replace a worker on which nothing starts any more until its successor is ready. */
async function loseWorker({ testbed, pass }: RepairBench): Promise<number> {
  const { objects } = testbed;
  const before = await namesOf(testbed);
  const lost = (await objects.machines(ref)).find(({ spec }) => spec.role === 'worker');
  const { name } = lost?.metadata ?? { name: '' };
  const current = async (): Promise<Machine | undefined> =>
    (await objects.machines(ref)).find(({ metadata }) => metadata.uid === lost?.metadata.uid);
  // Earlier restarts and replacements of the pool do not delay this one.
  pass(120);
  await breakMachine(testbed, name);
  await eventually(
    `${name} is unhealthy`,
    async () =>
      (await current())?.status?.conditions?.some((one) => one.type === 'NodeHealthy' && one.status === 'False'),
    200,
  );
  pass(unhealthyMinutes + 1);
  await eventually(
    `${name} is restarted`,
    async () => (await current())?.status?.progress?.facts['restartedFor'] !== undefined,
    120,
  );
  pass(15);
  await eventually(`${name} is gone`, async () => (await current()) === undefined, 300);
  await awaitRest(testbed, workers);
  const [successor] = (await objects.machines(ref)).filter(({ metadata }) => !before.has(metadata.name));
  return timesOf(testbed, successor).ready - decisionTime(testbed, lost);
}

const namesOf = async ({ objects }: Testbed): Promise<ReadonlySet<string>> =>
  new Set((await objects.machines(ref)).map(({ metadata }) => metadata.name));

/** Its kernel hangs, and nothing starts on it any more. */
async function breakMachine(testbed: Testbed, name: string): Promise<void> {
  const { machines } = testbed.world;
  const { vmName } = await identityOnNas(testbed, name);
  const node = machines.nodes().find((one) => one.stage === 'running' && one.name.endsWith(`_${vmName}`));
  if (!node) throw new Error(`the virtual machine of ${name} does not run`);
  machines.hang(node.name, true);
}

/** When the versions of a Machine were seen. */
function versionsOf({ recorder }: Testbed, machine: Machine | undefined) {
  if (!machine) throw new Error('no Machine was added');
  const { name, uid } = machine.metadata;
  return recorder.of(Machine, { name }).filter(({ object }) => object.metadata.uid === uid);
}

function timesOf(testbed: Testbed, machine: Machine | undefined): { readonly created: number; readonly ready: number } {
  const versions = versionsOf(testbed, machine);
  const ready = versions.find(({ object }) => isReady(object));
  return { created: versions[0]?.at.getTime() ?? Number.NaN, ready: ready?.at.getTime() ?? Number.NaN };
}

function decisionTime(testbed: Testbed, machine: Machine | undefined): number {
  const decided = versionsOf(testbed, machine).find(({ object }) => object.spec.remediation?.action === 'Replace');
  return decided?.at.getTime() ?? Number.NaN;
}
