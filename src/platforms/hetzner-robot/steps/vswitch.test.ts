import { afterEach, expect, it } from 'vitest';
import { firstServer, robotHarnesses } from '../../../../test/support/harness/robot-harness.ts';
import type { RobotSeedInput } from '../../../../test/world/robot/robot-fixture.ts';
import type { RobotStepContext } from '../context.ts';
import { findOrCreateVSwitch, vswitchJoined } from './vswitch.ts';

const { enter, closeAll } = robotHarnesses();
afterEach(closeAll);

it('machines that need a vSwitch at the same time share one', async () => {
  const { connect, options, names } = await enter();
  const robot = connect();
  const wanted = { name: 'nodes', vlan: 4000 };
  const found = await Promise.all([1, 2, 3].map(() => findOrCreateVSwitch(robot, wanted, options.signal)));
  expect(new Set(found.map(({ id }) => id)).size).toBe(1);
  expect(names().filter((name) => name === 'POST /vswitch').length).toBeGreaterThan(1);
  expect(await robot.listVSwitches(options)).toMatchObject([{ vlan: 4000 }]);
});

/** The outcome of the step for a machine on the first server. */
async function joined(seed: RobotSeedInput) {
  const { ground: context, names } = await enter(seed);
  const outcome = await vswitchJoined.run({
    ...context({ vswitch: { name: 'nodes', vlan: 4000 } }),
    owner: { installation: '', provider: '', machine: 'm' },
    hosts: {
      current: async () => ({ spec: { serverID: `${firstServer}` }, platformSpec: {} }),
      servers: () => new Set([`${firstServer}`]),
    },
    addresses: { claim: async () => ({ address: '10.9.0.20', prefix: 24 }) },
  } as unknown as RobotStepContext);
  return { outcome, calls: names() };
}

it('a VLAN of others, a full vSwitch and a server in too many vSwitches have our own messages', async () => {
  const failed = (reason: string, message: RegExp) => ({
    outcome: { kind: 'fail', reason, message: expect.stringMatching(message) },
  });
  const foreign = { accounts: [{ vswitches: [{ name: 'storage', vlan: 4000 }] }] };
  expect(await joined(foreign)).toMatchObject(failed('VSwitchForeign', /has the name storage and not nodes/));
  const five = Array.from({ length: 5 }, (_, index) => ({
    name: `old-${index}`,
    vlan: 4010 + index,
    servers: [firstServer],
  }));
  expect(await joined({ accounts: [{ vswitches: five }] })).toMatchObject(
    failed('VSwitchesExhausted', /^Server \d+ is in 5 vSwitches, the maximum/),
  );
  const numbers = Array.from({ length: 100 }, (_, index) => 4000001 + index);
  const servers = [firstServer, ...numbers].map((number) => ({ number, disks: [] }));
  const full = { servers, accounts: [{ vswitches: [{ name: 'nodes', vlan: 4000, servers: numbers }] }] };
  expect(await joined(full)).toMatchObject(failed('VSwitchFull', /^vSwitch nodes has 100 servers/));
});
