import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimServer, joinAsNode, newSecrets, seedWithTalos } from './node-fixture.ts';
import { describeVerdict, openRobotPlatformFixture, type RobotPlatformFixture } from './robot-platform-fixture.ts';

const nodes = Array.from({ length: 10 }, (_, index) => 3140601 + index);
const [first, second, third] = [3140701, 3140702, 3140703] as const;
let fixture: RobotPlatformFixture;

beforeAll(async () => {
  const servers = [
    ...nodes.map((number) => ({ number, ...seedWithTalos })),
    { number: first },
    { number: second },
    { number: third },
  ];
  fixture = await openRobotPlatformFixture({ network: '127.42.164', limits: { 'POST /reset': 1 }, servers }, 0.01);
  fixture.cluster = await newSecrets();
});
const summaryOf = (number: number) => fixture.simulator.servers().find((server) => server.number === number);
afterAll(async () => await fixture?.close());

it('with the hourly resets used up, nodes are released all the same; rescue is armed only at the turn of a waiting server', async () => {
  const life = fixture.start();
  const quick = await claimServer(fixture, life, first);
  const late = [await claimServer(fixture, life, second), await claimServer(fixture, life, third)];
  const held = await Promise.all(nodes.map((number) => claimServer(fixture, life, number)));
  expect(describeVerdict(await life.walk('release', quick.machine, quick.durable))).toBe('finished');
  const isTold = ({ kind }: { kind: string }): boolean => kind === 'waiting';
  for (const [index, { machine, durable }] of late.entries()) {
    const place = `position ${index + 1} of ${index + 1}`;
    const told = await life.walk('release', machine, durable, isTold);
    expect(told).toMatchObject({ message: expect.stringContaining(place) });
  }
  // Robot rejected the second one, and the limit is known from then on.
  expect(summaryOf(third)).toMatchObject({ armed: undefined });
  await Promise.all(
    held.map(async (one) => {
      await joinAsNode(fixture, life, one);
      expect(describeVerdict(await life.walk('release', one.machine, one.durable))).toBe('finished');
      expect(fixture.hosts.of(one.number)).toMatchObject({ state: 'Available', heldBy: undefined });
    }),
  );
  expect(fixture.simulator.servers().filter(({ phase }) => phase === 'rescue')).toHaveLength(nodes.length + 1);
  expect(fixture.switchboard.calls.filter(({ name }) => /\/Reboot$/.test(name))).toHaveLength(nodes.length);
  expect(fixture.simulator.calls()['POST /reset']).toBeLessThanOrEqual(2);
  expect(fixture.simulator.lockouts()).toEqual([]);
}, 120_000);
