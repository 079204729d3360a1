import { type RobotFixture, type RobotSeedInput, useRobotFixtures } from '../robot-fixture.ts';

// The shared fixture of tests of single machines: one server, number 7, its buttons, and the content of its disks.

const { enter, closeAll } = useRobotFixtures();

export { closeAll, enter };

export const linuxContent = { kind: 'linux', hostname: 'files' };
export const talosContent = { kind: 'talos', version: '1.13.9', configured: false };
export const seedWithOneServer = (change: object = {}): RobotSeedInput => ({ servers: [{ number: 7, ...change }] });
export const serverAddress = '127.42.60.11';

export const phaseOf = ({ room }: RobotFixture) => room.servers()[0]?.phase;
export const requestReset = ({ ask }: RobotFixture, type = 'hw') => ask('POST /reset/7', { form: `type=${type}` });
export const armBootConfig = ({ ask }: RobotFixture, form = 'os=linux') => ask('POST /boot/7/rescue', { form });
/** Whether rescue is armed, as the webservice reports it. */
export const isRescueArmed = async ({ ask }: RobotFixture) => (await ask('GET /boot/7/rescue')).body.rescue.active;

/** From a reset into the rescue system. */
export async function bootIntoRescue(world: RobotFixture): Promise<void> {
  await armBootConfig(world);
  await requestReset(world);
  await world.clock.pass(45 + 15 + 100);
  const is = phaseOf(world);
  if (is !== 'rescue') throw new Error(`the server is in ${is}`);
}
