import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeVerdict,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const [one, two] = [3140401, 3140402] as const;
let fixture: RobotPlatformFixture;

beforeAll(async () => {
  fixture = await openRobotPlatformFixture(
    { network: '127.42.156', servers: [one, two].map((number) => ({ number })) },
    0.004,
  );
});
afterAll(async () => await fixture?.close());

it('P1: a server with a foreign reboot in the middle of the work enters rescue again, and becomes ready', async () => {
  fixture.hosts.add(one);
  const durable: MachineRecord = { progress: undefined };
  const life = fixture.start();
  const isWriting = await life.walk('provision', 'again', durable, ({ progress }) => progress.step === 'image-written');
  expect(isWriting.kind).toBe('waiting');
  fixture.simulator.server(one).machine.reset('hw');
  expect(describeVerdict(await life.walk('provision', 'again', durable))).toBe('finished');
  expect(durable.progress?.facts).toMatchObject({ rescueReturns: 1, rescueLostAt: '' });
  expect(fixture.simulator.servers()[0]?.phase).toBe('talos');
});

it('a server that is rebooted all the time fails with a message', async () => {
  fixture.hosts.all.clear();
  fixture.hosts.add(two);
  const durable: MachineRecord = { progress: undefined };
  const stop = fixture.switchboard.onCall(({ name, detail }) => {
    const isHere = (detail as { server?: number } | undefined)?.server === two;
    if (isHere && /^ssh/.test(name) && durable.progress?.step === 'disks-wiped')
      fixture.simulator.server(two).machine.reset('hw');
  });
  expect(describeVerdict(await fixture.start().walk('provision', 'never', durable))).toMatch(/^RescueLost: .*4 times/);
  stop();
});
