import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { endOf, first, robotScenes } from '../../../../test/support/robot-scene.ts';
import { OpenConnections } from '../../../engine/connections.ts';
import { noLog } from '../../../lib/log.ts';
import { Secret, type Secrets } from '../../../lib/secret.ts';
import { connectRobot, type RobotAccess } from './connect.ts';

const { enter, closeAll } = robotScenes();
afterEach(closeAll);

const right = { username: new Secret('#ws+a\n'), password: new Secret('b\n') };
const scope = { servers: () => new Set([first]) };
const attempt = (credentials: Secrets, access: Partial<RobotAccess> = {}) => {
  const context = { credentials, connections: new OpenConnections(), clock: new ManualClock(), log: noLog };
  return () => connectRobot(context, { credentialsName: 'robot', ...access }, scope);
};

describe('connecting', () => {
  it.each<[string, Secrets, RegExp]>([
    ['nothing', {}, /Secret robot needs the keys username and password/],
    ['no password', { username: new Secret('#ws+a') }, /Secret robot needs/],
    ['an empty one', { ...right, password: new Secret(' \n') }, /Secret robot needs/],
    ['a name that could not be sent', { ...right, username: new Secret('a:b') }, /cannot have a colon/],
  ])('with %s says what is missing', (_, credentials, words) => {
    expect(attempt(credentials)).toThrow(words);
  });

  it.each(['http://127.0.0.1', 'https://user@127.0.0.1', 'https://127.0.0.1/path', 'nothing'])(
    'to %s is refused: the credentials go with every call',
    (url) => {
      expect(attempt(right, { url })).toThrow(/has to be https:/);
      expect(attempt(right)).not.toThrow();
    },
  );

  it('trusts nobody without its CA, and sends nothing then', async () => {
    const { room, time, options, names } = await enter();
    const connections = new OpenConnections();
    const context = { credentials: right, connections, clock: time, log: noLog };
    const robot = connectRobot(context, { credentialsName: 'robot', url: room.line.url }, scope);
    expect(await endOf(robot.getServer(first, options))).toBe('ROBOT_TLS_UNTRUSTED');
    expect(await endOf(robot.getServer(first, options))).toBe('ROBOT_TLS_UNTRUSTED');
    expect(names()).toEqual([]);
    await connections.close();
  });

  it('to where nobody listens does not count as a login', async () => {
    const { time, options } = await enter();
    const connections = new OpenConnections();
    const context = { credentials: right, connections, clock: time, log: noLog };
    const robot = connectRobot(context, { credentialsName: 'robot', url: 'https://127.0.0.1:1' }, scope);
    for (let at = 0; at < 5; at += 1) {
      expect(await endOf(robot.getServer(first, options))).toBe('ROBOT_UNREACHABLE');
    }
    await connections.close();
  });

  it('as one user with another password goes on counting where the first one was', async () => {
    const { connect, options, room } = await enter();
    for (let at = 0; at < 100; at += 1) await connect().getServer(first, options);
    room.changePassword('another-one');
    expect(await endOf(connect().getServer(first, options))).toBe('ROBOT_CREDENTIALS_REFUSED');
    const robot = connect({ password: 'another-one' });
    for (let at = 0; at < 79; at += 1) await robot.getServer(first, options);
    expect(await endOf(robot.getServer(first, options))).toBe('ROBOT_BUDGET_SPENT');
    expect(room.calls()['GET /server']).toBe(179);
  });
});
