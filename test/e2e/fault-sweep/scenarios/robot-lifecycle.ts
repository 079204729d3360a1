import { expect } from 'vitest';
import { Host } from '../../../../src/api/host.ts';
import { Machine } from '../../../../src/api/machine.ts';
import { Cluster } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { RobotTestObjects } from '../../support/objects/robot-test-objects.ts';
import { listLeftovers } from '../../support/observation/provider-calls.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import type { Scenario } from '../scenario-run.ts';
import { eventuallyInSweep, type LifecyclePhases, scenarioOf } from './cluster-lifecycle.ts';

const clusterRef = { namespace: 'shop', name: 'main' };
/** Names of the available servers: one more than needed. The last one stays in maintenance. */
const lentServers = [
  { number: 3140011, name: 'rack-7' },
  { number: 3140012, name: '' },
] as const;
const fileServer = { number: 3140014, name: 'files' };
const rootDiskSerial = (number: number): string => `ROOT${number}`;
const protectedDiskSerial = (number: number): string => `KEPT${number}`;
const hostKey = (number: number) => ({ name: `server-${number}` });

/** As long as the backoff of a call: otherwise servers outrun the timestamps, and rescue ends before it began. */
const postSeconds = 1500;
/** A real hour: rescue that was armed before a kill is still armed in the next run. */
const lapseSeconds = 3_600_000;

const seeds = (network: string) => ({
  robot: {
    network,
    delays: { postSeconds, lapseSeconds },
    servers: [
      ...lentServers.map(({ number, name }) => ({
        ...{ number, name },
        disks: [{ serial: rootDiskSerial(number) }, { serial: protectedDiskSerial(number), content: { kind: 'ext4' } }],
      })),
      { ...fileServer, disks: [{ content: { kind: 'linux', hostname: 'files', answersSsh: true } }] },
    ],
  },
});

const areAvailable = async ({ platform }: Testbed): Promise<boolean> => {
  const { items } = await platform.list(Host);
  return items.length === lentServers.length && items.every(({ status }) => status?.state === 'Available');
};

const creation: LifecyclePhases = {
  async offer(testbed) {
    const robot = await RobotTestObjects.on(testbed);
    await robot.credentials();
    for (const { number } of lentServers) await robot.host(number, { protectedDisks: [protectedDiskSerial(number)] });
    await robot.config('home');
    await eventuallyInSweep(
      'the ProviderConfig is ready',
      async () => (await testbed.objects.getConfig('home')).status?.phase === 'Ready',
    );
    await eventuallyInSweep('the Hosts are available', () => areAvailable(testbed));
  },
  async create({ objects }) {
    await objects.cluster(clusterRef);
    await eventuallyInSweep(
      'the Cluster is ready',
      async () => (await objects.getCluster(clusterRef)).status?.phase === 'Ready',
    );
  },
};

const teardown: LifecyclePhases = {
  async delete(testbed) {
    await testbed.objects.remove(Cluster, clusterRef);
    await eventuallyInSweep('the Cluster is gone', async () => !(await testbed.objects.exists(Cluster, clusterRef)));
    await eventuallyInSweep('the Hosts are available again', () => areAvailable(testbed));
    expectServersUntouched(testbed);
  },
  async retract(testbed) {
    await testbed.objects.remove(ProviderConfig, { name: 'home' });
    for (const { number } of lentServers) await testbed.objects.remove(Host, hostKey(number));
    await eventuallyInSweep('nothing is left', async () => {
      expect(await listLeftovers(testbed)).toEqual([]);
      return true;
    });
  },
};

/** The duration of a restart for the servers: they start in milliseconds, while timestamps are in real time. */
const restartSeconds = 60;

/** For work between two runs: every change of a server is old by then. */
export async function backdateMachineFacts({ platform, objects }: Testbed): Promise<void> {
  for (const { metadata, status } of await objects.machines()) {
    const dates = Object.entries(status?.progress?.facts ?? {}).filter(([name, value]) => isDate(name, value));
    const facts = Object.fromEntries(dates.map(([name, value]) => [name, backdate(String(value))]));
    if (dates.length > 0)
      await platform.merge(
        Machine,
        { name: metadata.name },
        { status: { progress: { facts } } },
        { subresource: 'status' },
      );
  }
}

const isDate = (name: string, value: unknown): boolean => name.endsWith('At') && value !== '';
const backdate = (date: string): string => new Date(Date.parse(date) - restartSeconds * 1000).toISOString();

/** Servers are in their former state, and only the chosen disks were ever written to. */
function expectServersUntouched({ world }: Testbed): void {
  const { robot } = world;
  const [first] = lentServers;
  expect(robot.servers().map(({ number, name }) => ({ number, name }))).toEqual([...lentServers, fileServer]);
  expect(robot.server(first.number).machine.phase).not.toBe('talos');
  expect([...new Set(robot.writes().map(({ serial }) => serial))]).toEqual([rootDiskSerial(first.number)]);
  expect(robot.forbiddenCalls()).toEqual([]);
  expect(robot.lockouts()).toEqual([]);
}

/** The lifecycle of a Cluster of one bare server, from the free servers and back to them. */
export const robotLifecycle: Scenario = scenarioOf({ seeds, cluster: clusterRef, rise: creation, fall: teardown });
