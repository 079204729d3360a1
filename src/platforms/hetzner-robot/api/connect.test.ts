import { afterEach, describe, expect, it } from 'vitest';
import { firstServer, outcomeCode, robotHarnesses } from '../../../../test/support/harness/robot-harness.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { ProcessConnectionCache } from '../../../engine/connection-cache.ts';
import { noLog } from '../../../lib/log.ts';
import { SecretString, type SecretStrings } from '../../../lib/secret-string.ts';
import { connectRobot, type RobotAccess } from './connect.ts';

const { enter, closeAll } = robotHarnesses();
afterEach(closeAll);

const right = { username: new SecretString('#ws+a\n'), password: new SecretString('b\n') };
const scope = { servers: () => new Set([firstServer]) };
const attempt = (credentials: SecretStrings, access: Partial<RobotAccess> = {}) => {
  const context = { credentials, connections: new ProcessConnectionCache(), clock: new ManualClock(), log: noLog };
  return () => connectRobot(context, { credentialsName: 'robot', ...access }, scope);
};

describe('connecting', () => {
  it.each<[string, SecretStrings, RegExp]>([
    ['nothing', {}, /Secret robot needs the keys username and password/],
    ['no password', { username: new SecretString('#ws+a') }, /Secret robot needs/],
    ['an empty one', { ...right, password: new SecretString(' \n') }, /Secret robot needs/],
    ['a name that could not be sent', { ...right, username: new SecretString('a:b') }, /cannot contain a colon/],
  ])('with %s reports what is missing', (_, credentials, text) => {
    expect(attempt(credentials)).toThrow(text);
  });

  it.each(['http://127.0.0.1', 'https://user@127.0.0.1', 'https://127.0.0.1/path', 'nothing'])(
    'to %s is refused, because the credentials go with every call',
    (url) => {
      expect(attempt(right, { url })).toThrow(/has to be https:/);
      expect(attempt(right)).not.toThrow();
    },
  );

  it('trusts no server without its CA, and sends nothing', async () => {
    const { simulator, time, options, names } = await enter();
    const connections = new ProcessConnectionCache();
    const context = { credentials: right, connections, clock: time, log: noLog };
    const robot = connectRobot(context, { credentialsName: 'robot', url: simulator.line.url }, scope);
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ROBOT_TLS_UNTRUSTED');
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ROBOT_TLS_UNTRUSTED');
    expect(names()).toEqual([]);
    await connections.close();
  });

  it('to a closed port does not count as a login', async () => {
    const { time, options } = await enter();
    const connections = new ProcessConnectionCache();
    const context = { credentials: right, connections, clock: time, log: noLog };
    const robot = connectRobot(context, { credentialsName: 'robot', url: 'https://127.0.0.1:1' }, scope);
    for (let at = 0; at < 5; at += 1) {
      expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ROBOT_UNREACHABLE');
    }
    await connections.close();
  });

  it('with another password keeps the budgets of the user', async () => {
    const { connect, options, simulator } = await enter();
    for (let at = 0; at < 100; at += 1) await connect().getServer(firstServer, options);
    simulator.changePassword('another-one');
    expect(await outcomeCode(connect().getServer(firstServer, options))).toBe('ROBOT_CREDENTIALS_REFUSED');
    const robot = connect({ password: 'another-one' });
    for (let at = 0; at < 79; at += 1) await robot.getServer(firstServer, options);
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ROBOT_BUDGET_SPENT');
    expect(simulator.calls()['GET /server']).toBe(179);
  });
});
