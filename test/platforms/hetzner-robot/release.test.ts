import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeVerdict,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const number = 3140601;
let scene: RobotPlatformFixture;
beforeAll(async () => {
  scene = await openRobotPlatformFixture({ network: '127.42.165', servers: [{ number, name: 'rack-7' }] });
  scene.hosts.add(number);
});
afterAll(async () => await scene?.close());

it('D8: a release without a working login keeps its Host, and continues with the right one', async () => {
  const [process, durable]: [ReturnType<RobotPlatformFixture['start']>, MachineRecord] = [
    scene.start(),
    { progress: undefined },
  ];
  await process.walk('provision', 'shop-cp-0', durable, undefined, 'server-marked');
  expect(scene.room.server(number).name).toMatch(/^cpt\./);
  scene.room.changePassword('another-password');
  expect(describeVerdict(await process.walk('release', 'shop-cp-0', durable))).toMatch(/^ROBOT_CREDENTIALS_REFUSED/);
  expect(scene.hosts.of(number)).toMatchObject({ heldBy: 'shop-cp-0' });
  scene.login = { ...scene.login, password: 'another-password' };
  expect(describeVerdict(await process.walk('release', 'shop-cp-0', durable))).toBe('finished');
  expect(scene.hosts.of(number)).toMatchObject({ state: 'Available', heldBy: undefined });
  expect([scene.room.server(number).name, scene.room.lockouts()]).toEqual(['rack-7', []]);
});
