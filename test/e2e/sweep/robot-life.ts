import { expect } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { Cluster } from '../../../src/api/openmcp.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { RobotThings } from '../support/robot-things.ts';
import type { Stage } from '../support/stage.ts';
import { traces } from '../support/traces.ts';
import { type Acts, eventually, scriptOf } from './life.ts';
import type { Script } from './trial.ts';

const main = { namespace: 'shop', name: 'main' };
/** What people call the servers that they lend us: one more than it takes. The last one lends nobody. */
const rack = [
  { number: 3140011, name: 'rack-7' },
  { number: 3140012, name: '' },
] as const;
const files = { number: 3140014, name: 'files' };
const rootOf = (number: number): string => `ROOT${number}`;
const keptOf = (number: number): string => `KEPT${number}`;
const hostOf = (number: number) => ({ name: `server-${number}` });

/** As long as it takes here to try a call again: servers are quicker than dates otherwise, and rescue is over before it began. */
const postSeconds = 1500;
/** An hour of ours: what was armed before a death is armed still in the next life. */
const lapseSeconds = 3_600_000;

const seeds = (network: string) => ({
  robot: {
    network,
    delays: { postSeconds, lapseSeconds },
    servers: [
      ...rack.map(({ number, name }) => ({
        ...{ number, name },
        disks: [{ serial: rootOf(number) }, { serial: keptOf(number), content: { kind: 'ext4' } }],
      })),
      { ...files, disks: [{ content: { kind: 'linux', hostname: 'files', answersSsh: true } }] },
    ],
  },
});

const areAvailable = async ({ platform }: Stage): Promise<boolean> => {
  const { items } = await platform.list(Host);
  return items.length === rack.length && items.every(({ status }) => status?.state === 'Available');
};

const rise: Acts = {
  async offer(stage) {
    const robot = await RobotThings.on(stage);
    await robot.credentials();
    for (const { number } of rack) await robot.host(number, { protectedDisks: [keptOf(number)] });
    await robot.config('home');
    await eventually(
      'the ProviderConfig is ready',
      async () => (await stage.things.getConfig('home')).status?.phase === 'Ready',
    );
    await eventually('the Hosts are available', () => areAvailable(stage));
  },
  async create({ things }) {
    await things.cluster(main);
    await eventually('the Cluster is ready', async () => (await things.getCluster(main)).status?.phase === 'Ready');
  },
};

const fall: Acts = {
  async delete(stage) {
    await stage.things.remove(Cluster, main);
    await eventually('the Cluster is gone', async () => !(await stage.things.exists(Cluster, main)));
    await eventually('the Hosts are available again', () => areAvailable(stage));
    expectNothingTaken(stage);
  },
  async retract(stage) {
    await stage.things.remove(ProviderConfig, { name: 'home' });
    for (const { number } of rack) await stage.things.remove(Host, hostOf(number));
    await eventually('nothing is left', async () => {
      expect(await traces(stage)).toEqual([]);
      return true;
    });
  },
};

/** So long a restart takes, as servers see it: theirs start in milliseconds, while dates are ours. */
const restartSeconds = 60;

/** For what goes on between two lives: all that was done to a server was done a while ago. */
export async function aWhileLater({ platform, things }: Stage): Promise<void> {
  for (const { metadata, status } of await things.machines()) {
    const dates = Object.entries(status?.progress?.facts ?? {}).filter(([name, value]) => isDate(name, value));
    const facts = Object.fromEntries(dates.map(([name, value]) => [name, earlier(String(value))]));
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
const earlier = (date: string): string => new Date(Date.parse(date) - restartSeconds * 1000).toISOString();

/** Servers are what they were before, and only what was chosen of them was ever written to. */
function expectNothingTaken({ world }: Stage): void {
  const { robot } = world;
  const [first] = rack;
  expect(robot.servers().map(({ number, name }) => ({ number, name }))).toEqual([...rack, files]);
  expect(robot.server(first.number).machine.phase).not.toBe('talos');
  expect([...new Set(robot.writes().map(({ serial }) => serial))]).toEqual([rootOf(first.number)]);
  expect(robot.forbiddenCalls()).toEqual([]);
  expect(robot.lockouts()).toEqual([]);
}

/** Of a Cluster of one bare server: out of those that are free, and back to them. */
export const robotLife: Script = scriptOf({ seeds, cluster: main, rise, fall });
