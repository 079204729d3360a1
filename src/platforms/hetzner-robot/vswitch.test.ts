import { afterEach, expect, it } from 'vitest';
import { first, robotScenes } from '../../../test/support/robot-scene.ts';
import type { SeedInput } from '../../../test/world/robot/testing.ts';
import type { Context } from './ground.ts';
import { findOrMake, vswitchJoined } from './vswitch.ts';

const { enter, closeAll } = robotScenes();
afterEach(closeAll);

it('machines that need a vSwitch at the same time have the same one', async () => {
  const { connect, options, names } = await enter();
  const robot = connect();
  const wanted = { name: 'nodes', vlan: 4000 };
  const found = await Promise.all([1, 2, 3].map(() => findOrMake(robot, wanted, options.signal)));
  expect(new Set(found.map(({ id }) => id)).size).toBe(1);
  expect(names().filter((name) => name === 'POST /vswitch').length).toBeGreaterThan(1);
  expect(await robot.listVSwitches(options)).toMatchObject([{ vlan: 4000 }]);
});

/** What the step of a machine on the first server comes to. */
async function joined(seed: SeedInput) {
  const { ground, names } = await enter(seed);
  const outcome = await vswitchJoined.run({
    ...ground({ vswitch: { name: 'nodes', vlan: 4000 } }),
    owner: { installation: '', provider: '', machine: 'm' },
    hosts: { held: async () => ({ spec: { serverNumber: first } }), servers: () => new Set([first]) },
    addresses: { claim: async () => ({ address: '10.9.0.20', prefix: 24 }) },
  } as unknown as Context);
  return { outcome, calls: names() };
}

it('a VLAN of others, a full vSwitch and a server in too many are told in words of ours', async () => {
  const failed = (reason: string, message: RegExp) => ({
    outcome: { kind: 'fail', reason, message: expect.stringMatching(message) },
  });
  const foreign = { accounts: [{ vswitches: [{ name: 'storage', vlan: 4000 }] }] };
  expect(await joined(foreign)).toMatchObject(failed('VSwitchForeign', /is called storage and not nodes/));
  const five = Array.from({ length: 5 }, (_, index) => ({
    name: `old-${index}`,
    vlan: 4010 + index,
    servers: [first],
  }));
  expect(await joined({ accounts: [{ vswitches: five }] })).toMatchObject(
    failed('VSwitchesExhausted', /^Server \d+ is in 5 vSwitches already/),
  );
  const numbers = Array.from({ length: 100 }, (_, index) => 4000001 + index);
  const servers = [first, ...numbers].map((number) => ({ number, disks: [] }));
  const full = { servers, accounts: [{ vswitches: [{ name: 'nodes', vlan: 4000, servers: numbers }] }] };
  expect(await joined(full)).toMatchObject(failed('VSwitchFull', /^vSwitch nodes has 100 servers/));
});
