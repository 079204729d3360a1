import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeVerdict,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const number = 3140601;
let fixture: RobotPlatformFixture;
beforeAll(async () => {
  fixture = await openRobotPlatformFixture({ network: '127.42.165', servers: [{ number, name: 'rack-7' }] });
  fixture.hosts.add(number);
});
afterAll(async () => await fixture?.close());

it('B8: a release without a working login keeps its Host, and continues with the right one', async () => {
  const [process, durable]: [ReturnType<RobotPlatformFixture['start']>, MachineRecord] = [
    fixture.start(),
    { progress: undefined },
  ];
  await process.walk('provision', 'shop-cp-0', durable, undefined, 'server-marked');
  expect(fixture.simulator.server(number).name).toMatch(/^cpt\./);
  fixture.simulator.changePassword('another-password');
  expect(describeVerdict(await process.walk('release', 'shop-cp-0', durable))).toMatch(/^ROBOT_CREDENTIALS_REFUSED/);
  expect(fixture.hosts.of(number)).toMatchObject({ heldBy: 'shop-cp-0' });
  fixture.login = { ...fixture.login, password: 'another-password' };
  expect(describeVerdict(await process.walk('release', 'shop-cp-0', durable))).toBe('finished');
  expect(fixture.hosts.of(number)).toMatchObject({ state: 'Available', heldBy: undefined });
  expect([fixture.simulator.server(number).name, fixture.simulator.lockouts()]).toEqual(['rack-7', []]);
});
