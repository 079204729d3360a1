import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  foreignServer,
  openRobotHarness,
  outcomeCode,
  type RobotHarness,
} from '../../../../test/support/harness/robot-harness.ts';
import type { RobotClient } from './client.ts';
import { permitRequest, type RequestBounds, type RobotRequest } from './permit-request.ts';
import { routes } from './routes.ts';

const bounds: RequestBounds = {
  servers: new Set([11, 12]),
  failovers: new Set(['198.51.100.7']),
  ownerOf: (address) => ({ '203.0.113.11': 11, '203.0.113.99': 99 })[address],
};
const verdictOn = (request: RobotRequest): string => {
  try {
    permitRequest(request, bounds);
    return 'may be sent';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('a call', () => {
  it.each<[string, RobotRequest]>([
    ['a server with a Host', { method: 'GET', path: '/server/11' }],
    ['its address', { method: 'GET', path: '/ip/203.0.113.11' }],
    [
      'its address as a target',
      { method: 'POST', path: '/failover/198.51.100.7', form: [['active_server_ip', '203.0.113.11']] },
    ],
    ['it as a member', { method: 'POST', path: '/vswitch/1/server', form: [['server', ['11', '12']]] }],
    ['a reset of it', { method: 'POST', path: '/reset/12', form: [['type', 'hw']] }],
  ])('that names %s may be sent', (_, request) => {
    expect(verdictOn(request)).toBe('may be sent');
  });

  it.each<[string, RobotRequest]>([
    ['another server', { method: 'GET', path: '/server/99' }],
    ["another's address", { method: 'GET', path: '/ip/203.0.113.99' }],
    ['an address nobody told of', { method: 'GET', path: '/ip/203.0.113.12' }],
    ['another member beside one', { method: 'DELETE', path: '/vswitch/1/server', form: [['server', ['11', '99']]] }],
    [
      "another's address as a target",
      { method: 'POST', path: '/failover/198.51.100.7', form: [['active_server_ip', '203.0.113.99']] },
    ],
    ['a failover address of others', { method: 'GET', path: '/failover/198.51.100.8' }],
  ])('that names %s is not sent', (_, request) => {
    expect(verdictOn(request)).toBe('ROBOT_SERVER_NOT_LISTED');
  });

  it.each<[string, RobotRequest]>([
    ['gives notice', { method: 'POST', path: '/server/11/cancellation', form: [['cancellation_date', 'now']] }],
    ['asks about it', { method: 'GET', path: '/server/11/cancellation' }],
    ['takes it back', { method: 'POST', path: '/server/11/reversal' }],
    ['gives notice for an address', { method: 'POST', path: '/ip/203.0.113.11/cancellation' }],
    ['gives notice for a vSwitch', { method: 'DELETE', path: '/vswitch/1', form: [['cancellation_date', 'now']] }],
    ['orders something', { method: 'POST', path: '/order/server/transaction' }],
    ['has Robot install something', { method: 'POST', path: '/boot/11/linux', form: [['dist', 'Debian']] }],
    ['sends for a technician', { method: 'POST', path: '/reset/11', form: [['type', 'man']] }],
    ['boots something else', { method: 'POST', path: '/boot/11/rescue', form: [['os', 'vkvm']] }],
    ['has a parameter nobody knows', { method: 'POST', path: '/server/11', form: [['status', 'x']] }],
    ['has one that every object has', { method: 'POST', path: '/server/11', form: [['constructor', 'x']] }],
    ['is about all keys', { method: 'GET', path: '/key' }],
    ['is about all subnets', { method: 'GET', path: '/subnet' }],
    ['names a server in other letters', { method: 'GET', path: '/server/011' }],
    ['names a server by its address', { method: 'GET', path: '/server/203.0.113.11' }],
    ['leads elsewhere', { method: 'GET', path: '/server/11/../99' }],
    ['leads elsewhere in secret', { method: 'GET', path: '/server/11%2F..%2F99' }],
    ['asks for YAML', { method: 'GET', path: '/server/11.yaml' }],
    ['hides a query', { method: 'GET', path: '/server/11?server_ip=203.0.113.99' }],
    ['has another method', { method: 'DELETE', path: '/server/11' }],
  ])('that %s does not exist', (_, request) => {
    expect(verdictOn(request)).toBe('ROBOT_CALL_FORBIDDEN');
  });

  it('has no route to contracts or orders', () => {
    expect(routes.filter(({ path }) => /cancel|revers|order|windows|linux|plesk|cpanel|vnc/.test(path))).toEqual([]);
  });
});

/** Every method of the client with arbitrary arguments. */
const calls: Readonly<
  Record<string, (robot: RobotClient, n: number, text: string, fixture: RobotHarness) => Promise<unknown>>
> = {
  listServers: (robot, _n, _text, { options }) => robot.listServers(options),
  getServer: (robot, n, _, { options }) => robot.getServer(n, options),
  renameServer: (robot, n, text, { options }) => robot.renameServer(n, text, options),
  getBoot: (robot, n, _, { options }) => robot.getBoot(n, options),
  getRescue: (robot, n, _, { options }) => robot.getRescue(n, options),
  armRescue: (robot, n, text, { options }) => robot.armRescue(n, [text], options),
  disarmRescue: (robot, n, _, { options }) => robot.disarmRescue(n, options),
  getReset: (robot, n, _, { options }) => robot.getReset(n, options),
  checkResetBudget: async (robot, n) => robot.checkResetBudget(n),
  reset: (robot, n, text, { options }) => robot.reset(n, text as 'hw', options),
  addKey: (robot, _, text, { options }) => robot.addKey(text, `ssh-ed25519 ${'A'.repeat(68)}`, options),
  getIp: (robot, n, _, { options }) => robot.getIp(n, options),
  listVSwitches: (robot, _n, _text, { options }) => robot.listVSwitches(options),
  getVSwitch: (robot, n, _, { options }) => robot.getVSwitch(n, options),
  createVSwitch: (robot, n, text, { options }) => robot.createVSwitch(text, n, options),
  attachServers: (robot, n, _, { options }) => robot.attachServers(50231, [n], options),
  detachServers: (robot, n, _, { options }) => robot.detachServers(50231, [n], options),
  getFailover: (robot, _, text, { options }) => robot.getFailover(text, options),
  routeFailover: (robot, n, text, { options }) => robot.routeFailover(text, n, options),
};

describe('arbitrary calls', () => {
  const own = 3140011;
  let fixture: RobotHarness;
  beforeAll(async () => {
    const generous = (name: string): [string, number] => [name, 1e9];
    fixture = await openRobotHarness({
      accounts: [
        {
          vswitches: [{ name: 'a', vlan: 4000, servers: [foreignServer] }],
          failovers: [{ ip: '198.51.100.7', server: foreignServer }],
        },
      ],
      servers: [own, foreignServer].map((number) => ({ number })),
      delays: { failoverSeconds: 0, vswitchSeconds: 0 },
      limits: Object.fromEntries(['GET /server', 'GET /boot', 'POST /reset'].map(generous)),
    });
  });
  afterAll(() => fixture.close());

  test('every method of the client is called here', async () => {
    const { RobotClient } = await import('./client.ts');
    const methods = Object.getOwnPropertyNames(RobotClient.prototype).filter((name) => name !== 'constructor');
    expect(Object.keys(calls).sort()).toEqual(methods.sort());
  });

  test('the webservice never receives a server without a Host, nor a forbidden call', async () => {
    const robot = fixture.connect({ servers: [own] });
    // The client then knows the addresses that it must not name.
    await robot.listServers(fixture.options);
    const bodies: string[] = [];
    const stop = fixture.switchboard.judge((call, content) => {
      bodies.push(`${call.name} ${JSON.stringify(call.detail)} ${content}`);
      return undefined;
    });
    const malicious = [
      ...['127.42.60.12', '198.51.100.7', '2001:db8:60:e9dd::', 'man', '../server', `${foreignServer}`, ''],
      ...[
        `x&server_number=${foreignServer}`,
        `3140011/../../server/${foreignServer}`,
        'now',
        '%2e%2e',
        "'",
        '\n',
        'hw',
      ],
    ];
    const number = fc.oneof(fc.constantFrom(own, foreignServer, 0, -1, 1.5, Number.NaN, 1e21, 50231), fc.integer());
    const text = fc.oneof(fc.constantFrom(...malicious), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(calls)), number, text, async (name, n, words) => {
        await outcomeCode(Promise.resolve().then(() => calls[name]?.(robot, n, words, fixture)));
        await fixture.clock.pass(600);
        for (const body of bodies.splice(0)) {
          // Free text may have any content, and a vSwitch any number.
          const reported = body.replace(/(?<=[ &](?:server_)?name=)[^&]*/g, '').replace(/(?<=vswitch\/)\d+/g, '');
          expect(reported).not.toMatch(
            new RegExp(`${foreignServer}|127\\.42\\.60\\.12|198\\.51|cancel|revers|order|man$|vkvm`),
          );
        }
      }),
      { numRuns: 400 },
    );
    stop();
    expect(fixture.simulator.forbiddenCalls()).toEqual([]);
    expect(fixture.simulator.lockouts()).toEqual([]);
    expect(fixture.names().length).toBeGreaterThan(50);
    const unknown = await Promise.all(
      [0, foreignServer].map((n) => outcomeCode(robot.reset(n, 'hw', fixture.options))),
    );
    expect(unknown).toEqual(['ROBOT_CALL_FORBIDDEN', 'ROBOT_SERVER_NOT_LISTED']);
  });

  test('a server whose Host is deleted while a call waits is not called any more', async () => {
    const servers = new Set([own]);
    const robot = fixture.connect({ scope: { servers: () => servers } });
    await robot.getServer(own, fixture.options);
    const seen = fixture.switchboard.calls.length;
    const waiting = Array.from({ length: 5 }, () => outcomeCode(robot.getServer(own, fixture.options)));
    servers.clear();
    const ends = await Promise.all(waiting);
    const sent = fixture.switchboard.calls.length - seen;
    expect(ends.filter((end) => end === 'ROBOT_SERVER_NOT_LISTED')).toHaveLength(5 - sent);
    expect(sent).toBeLessThanOrEqual(2);
  });
});
