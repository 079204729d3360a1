import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { type RobotFixture, useRobotFixtures } from '../robot-fixture.ts';
import type { BootActivation } from '../state.ts';
import { worldSeconds } from '../world-time.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const address = '127.42.60.11';
const Action = fc.oneof(
  fc.constantFrom('arm', 'disarm', 'on', 'hang', 'hang board', 'cycle', 'os reboots', 'os goes off'),
  fc.constantFrom('hw', 'sw', 'power', 'power_long'),
  fc.integer({ min: 0, max: 200 }),
);
type Action = string | number;

async function perform({ room, clock, software }: RobotFixture, act: Action): Promise<void> {
  const server = room.server(7);
  const { machine } = server;
  if (typeof act === 'number') return await clock.pass(act);
  const common = { kind: 'rescue', system: 'linux', keys: [] } as const;
  const activation: BootActivation = {
    ...common,
    password: `p${worldSeconds(room.robot)}`,
    at: worldSeconds(room.robot),
  };
  const acts: Readonly<Record<string, () => void>> = {
    arm: () => {
      server.activation = activation;
    },
    disarm: () => {
      server.activation = undefined;
    },
    on: () => machine.switchOn(),
    hang: () => machine.hang(),
    'hang board': () => machine.hang('board'),
    cycle: () => machine.powerCycle(),
    'os reboots': () => software.running.get(address)?.power('reboot'),
    'os goes off': () => software.running.get(address)?.power('off'),
  };
  const work = acts[act] ?? (() => machine.reset(act as 'hw'));
  work();
}

test('after any actions on a server: one system at a time, no disk is written, and it can be recovered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Action, { maxLength: 25 }), async (acts) => {
      const world = await enter({
        servers: [{ number: 7, disks: [{ content: { kind: 'linux', hostname: 'files' } }] }],
      });
      const summary = () => world.room.servers()[0]!;
      for (const act of acts) await perform(world, act);
      await world.clock.pass(1000);
      const { isOn, phase, stuck: stalled } = summary();
      expect(isOn).toBe(phase !== 'off');
      // The only allowed fault is the requested one: two systems at one address would be another.
      expect(['the board hangs in its self test', undefined]).toContain(stalled);
      expect(world.software.running.size).toBe(['linux', 'rescue'].includes(phase) ? 1 : 0);
      expect(world.room.writes()).toEqual([]);
      world.room.server(7).activation = undefined;
      world.room.server(7).machine.powerCycle();
      await world.clock.pass(1000);
      expect(summary()).toMatchObject({ isOn: true, phase: 'linux', stuck: undefined });
      await closeAll();
    }),
    { numRuns: 40 },
  );
});

test('one activation gives at most one boot of the rescue system, after any actions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Action, { maxLength: 25 }), async (acts) => {
      const world = await enter({ servers: [{ number: 7 }] });
      const armed = acts.filter((act) => act === 'arm').length;
      for (const act of acts) await perform(world, act);
      await world.clock.pass(1000);
      const fetched = world.room.servers()[0]!.history.filter((phase) => phase === 'loading').length;
      expect(fetched).toBeLessThanOrEqual(armed);
      await closeAll();
    }),
    { numRuns: 40 },
  );
});
