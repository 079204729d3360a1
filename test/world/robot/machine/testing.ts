import { type Bench, benches, type SeedInput } from '../testing.ts';

// What tests of single machines have in common: one server, number 7, its buttons, and what is on its disks.

const { enter, closeAll } = benches();

export { closeAll, enter };

export const linux = { kind: 'linux', hostname: 'files' };
export const talos = { kind: 'talos', version: '1.13.9', configured: false };
export const oneServer = (change: object = {}): SeedInput => ({ servers: [{ number: 7, ...change }] });
export const address = '127.42.60.11';

export const phase = ({ room }: Bench) => room.servers()[0]?.phase;
export const reset = ({ ask }: Bench, type = 'hw') => ask('POST /reset/7', { form: `type=${type}` });
export const arm = ({ ask }: Bench, form = 'os=linux') => ask('POST /boot/7/rescue', { form });
/** Whether rescue is armed, as the webservice tells it. */
export const isArmed = async ({ ask }: Bench) => (await ask('GET /boot/7/rescue')).body.rescue.active;

/** From a reset into the rescue system. */
export async function intoRescue(world: Bench): Promise<void> {
  await arm(world);
  await reset(world);
  await world.clock.pass(45 + 15 + 100);
  const is = phase(world);
  if (is !== 'rescue') throw new Error(`the server is in ${is}`);
}
