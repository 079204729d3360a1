import { afterEach, describe, expect, it } from 'vitest';
import {
  firstServer,
  outcomeCode,
  robotHarnesses,
  secondServer,
  thirdServer,
  thrownError,
} from '../../../../test/support/harness/robot-harness.ts';

const { enter, closeAll } = robotHarnesses();
afterEach(closeAll);

describe('addresses', () => {
  it('of a server have gateway and prefix', async () => {
    const { connect, options } = await enter({ servers: [{ number: 7, extraIps: ['127.42.60.99'] }, { number: 8 }] });
    expect(await connect().getIp(7, options)).toEqual({
      ip: '127.42.60.11',
      number: 7,
      gateway: '127.42.60.1',
      prefix: 26,
      locked: false,
    });
  });
});

describe.each(['in process', 'processing'])('vSwitches, where a joining member is "%s"', (inProcess) => {
  it('are created, filled one change at a time, and emptied; each call returns at once', async () => {
    const { connect, options, clock, names } = await enter({ behaviour: { inProcess } });
    const robot = connect();
    expect(await robot.listVSwitches(options)).toEqual([]);
    const { id } = await robot.createVSwitch('ocp', 4010, options);
    expect(await robot.listVSwitches(options)).toMatchObject([{ id, name: 'ocp', vlan: 4010, cancelled: false }]);
    expect(await robot.attachServers(id, [firstServer], options)).toBe('in process');
    expect(await robot.attachServers(id, [firstServer, secondServer], options)).toBe('in process');
    expect(names().filter((name) => name === 'POST /vswitch/{id}/server')).toHaveLength(1);
    expect((await robot.getVSwitch(id, options)).members).toEqual([{ number: firstServer, status: 'in process' }]);
    await clock.pass(30);
    expect(await robot.attachServers(id, [firstServer], options)).toBe('ready');
    expect(await robot.attachServers(id, [secondServer, thirdServer], options)).toBe('in process');
    await clock.pass(30);
    expect(await robot.attachServers(id, [firstServer, secondServer, thirdServer], options)).toBe('ready');
    expect(await robot.detachServers(id, [secondServer], options)).toBe('in process');
    expect(await robot.detachServers(id, [thirdServer], options)).toBe('in process');
    await clock.pass(30);
    expect(await robot.detachServers(id, [secondServer], options)).toBe('gone');
    const { members } = await robot.getVSwitch(id, options);
    expect(members.map(({ number }) => number)).toEqual([firstServer, thirdServer]);
  });
});

describe('vSwitches', () => {
  it('a concurrent change is waited for and is no failure', async () => {
    const { connect, options, switchboard } = await enter({ accounts: [{ vswitches: [{ name: 'a', vlan: 4000 }] }] });
    const robot = connect();
    const [{ id } = { id: 0 }] = await robot.listVSwitches(options);
    switchboard.fail('robot', /^POST \/vswitch/, { kind: 'error', status: 409, code: 'VSWITCH_IN_PROCESS' });
    expect(await robot.attachServers(id, [firstServer], options)).toBe('in process');
  });

  it('a taken VLAN, or one vSwitch too many, needs a change', async () => {
    const { connect, options } = await enter({ behaviour: { mostVSwitches: 1 } });
    const robot = connect();
    await robot.createVSwitch('a', 4000, options);
    expect(await outcomeCode(robot.createVSwitch('b', 4000, options))).toBe('ROBOT_CONFLICT');
    expect(await outcomeCode(robot.createVSwitch('b', 4001, options))).toBe('ROBOT_LIMIT_REACHED');
    expect(await outcomeCode(robot.getVSwitch(1, options))).toBe('ROBOT_NOT_FOUND');
  });

  it('a member that could not be connected is named', async () => {
    const { connect, options, simulator } = await enter({
      accounts: [{ vswitches: [{ name: 'a', vlan: 4000, servers: [firstServer] }] }],
    });
    const [vswitch] = simulator.robot.accounts[0]?.vswitches.values() ?? [];
    vswitch?.members.set(firstServer, 'failed');
    const error = await thrownError(connect().attachServers(vswitch?.id ?? 0, [firstServer], options));
    expect([error.code, error.message]).toEqual([
      'ROBOT_CALL_FAILED',
      expect.stringContaining(`Server ${firstServer}`),
    ]);
  });
});

describe('failover addresses', () => {
  const seed = {
    accounts: [
      {
        failovers: [
          { ip: '198.51.100.7', server: firstServer },
          { ip: '2001:db8:f::', netmask: 'ffff:ffff:ffff:ffff::', server: firstServer, active: null },
        ],
      },
    ],
  };
  const failovers = ['198.51.100.7', '2001:db8:f::'];

  it('are routed to a server, which takes time; a repeated call succeeds', async () => {
    const { connect, options, clock } = await enter(seed);
    const robot = connect({ failovers });
    expect(await robot.getFailover('198.51.100.7', options)).toEqual({
      ip: '198.51.100.7',
      netmask: '255.255.255.255',
      orderedFor: firstServer,
      routedTo: '127.42.60.11',
    });
    await robot.getServer(secondServer, options);
    const routing = robot.routeFailover('198.51.100.7', secondServer, options);
    await clock.pass(60);
    expect((await routing).routedTo).toBe('127.42.60.12');
    expect((await robot.routeFailover('198.51.100.7', secondServer, options)).routedTo).toBe('127.42.60.12');
  });

  it('of IPv6 are routed to the main network; an unrouted one has no target', async () => {
    const { connect, options, clock } = await enter(seed);
    const robot = connect({ failovers });
    expect((await robot.getFailover('2001:db8:f::', options)).routedTo).toBeUndefined();
    await robot.getServer(thirdServer, options);
    const routing = robot.routeFailover('2001:db8:f::', thirdServer, options);
    await clock.pass(60);
    expect((await routing).routedTo).toMatch(/^2001:db8:60:.*::$/);
  });

  it('other changes fail while one is being switched, and other calls succeed', async () => {
    const { connect, options, clock, switchboard } = await enter(seed);
    const robot = connect({ failovers });
    await robot.getServer(secondServer, options);
    switchboard.fail('robot', /^POST \/failover/, { kind: 'error', status: 409, code: 'FAILOVER_LOCKED' });
    const error = await thrownError(robot.routeFailover('198.51.100.7', secondServer, options));
    expect([error.code, error.retryAfterSeconds]).toEqual(['ROBOT_IN_PROCESS', 10]);
    const routing = robot.routeFailover('198.51.100.7', secondServer, options);
    await Promise.all([firstServer, secondServer, thirdServer].map((number) => robot.getServer(number, options)));
    await clock.pass(60);
    expect(await outcomeCode(routing)).toBe('ok');
  });
});
