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

const key = `ssh-ed25519 ${Buffer.concat([Buffer.from([0, 0, 0, 11]), Buffer.from('ssh-ed25519'), Buffer.from([0, 0, 0, 32]), Buffer.alloc(32, 7)]).toString('base64')}`;

describe('servers', () => {
  it('are listed, read one by one, and renamed, also to an empty name', async () => {
    const { connect, options } = await enter();
    const robot = connect();
    const all = await robot.listServers(options);
    expect(all.map(({ number }) => number)).toEqual([firstServer, secondServer, thirdServer, 3140014]);
    expect(await robot.getServer(firstServer, options)).toEqual({
      number: firstServer,
      name: '',
      address: '127.42.60.11',
      ipv6Net: '2001:db8:60:e9da::',
      product: 'AX42',
      dc: 'FSN1-DC18',
      status: 'ready',
      cancelled: false,
      paidUntil: '2031-05-14',
      addresses: ['127.42.60.11'],
    });
    const name = "a b/ä&c=d';--%";
    expect((await robot.renameServer(firstServer, name, options)).name).toBe(name);
    expect((await robot.getServer(firstServer, options)).name).toBe(name);
    expect((await robot.renameServer(firstServer, '', options)).name).toBe('');
  });

  it('may have no IPv4 address, and may still be in setup', async () => {
    const { connect, options } = await enter({ servers: [{ number: 7, address: null, status: 'in process' }] });
    const robot = connect();
    expect(await robot.getServer(7, options)).toMatchObject({ addresses: [], status: 'in process' });
    expect((await robot.getServer(7, options)).address).toBeUndefined();
    expect(await robot.getIp(7, options)).toBeUndefined();
  });

  it('are an empty list when there are none, in the seen and in the documented form', async () => {
    const { connect, options, switchboard } = await enter({ servers: [] });
    expect(await connect().listServers(options)).toEqual([]);
    switchboard.fail('robot', /^GET \/server$/, { kind: 'error', status: 404, code: 'SERVER_NOT_FOUND' });
    expect(await connect().listServers(options)).toEqual([]);
  });

  it('cost one call for a thousand callers within a minute', async () => {
    const { connect, options, clock, names } = await enter();
    const robot = connect();
    const ask = () => robot.listServers({ ...options, maxAgeSeconds: 60 });
    const lists = await Promise.all(Array.from({ length: 1000 }, ask));
    expect(new Set(lists.map(({ length }) => length))).toEqual(new Set([4]));
    expect(names()).toHaveLength(1);
    await clock.pass(61);
    await ask();
    expect(names()).toHaveLength(2);
  });

  it('have their new name in the shared list without a further call', async () => {
    const { connect, options, names, switchboard } = await enter();
    const robot = connect();
    const nameOf = async (number: number) =>
      (await robot.listServers({ ...options, maxAgeSeconds: 600 })).find((one) => one.number === number)?.name;
    const asked = nameOf(firstServer);
    await robot.renameServer(firstServer, 'cpt.x', options);
    await asked;
    expect([await nameOf(firstServer), await nameOf(secondServer)]).toEqual(['cpt.x', '']);
    const lists = () => names().filter((name) => name === 'GET /server').length;
    expect(lists()).toBe(1);
    const proof = { ...options, maxAgeSeconds: 600, withoutUpdates: firstServer };
    // This name comes from our own call only. Robot itself has reported the name of the other server.
    await robot.listServers({ ...proof, withoutUpdates: secondServer });
    expect(lists()).toBe(1);
    await robot.listServers(proof);
    await robot.listServers(proof);
    expect(lists()).toBe(2);
    switchboard.fail('robot', /^POST \/server/, { kind: 'lose-reply' });
    await thrownError(robot.renameServer(secondServer, 'cpt.y', options));
    expect([await nameOf(firstServer), await nameOf(secondServer)]).toEqual(['cpt.x', 'cpt.y']);
  });

  it('of other accounts do not exist', async () => {
    const accounts = [{ password: 'a' }, { user: '#ws+other', password: 'b' }];
    const fixture = await enter({ accounts, servers: [{ number: 11 }, { number: 12, account: '#ws+other' }] });
    const error = await thrownError(fixture.connect().getServer(12, fixture.options));
    expect([error.code, error.retry]).toEqual(['ROBOT_SERVER_UNKNOWN', 'after-change']);
  });
});

describe('boot configurations', () => {
  it('P4: rescue: lists the systems while it is inactive, the armed one while active; its password is secret', async () => {
    const { connect, options, simulator } = await enter();
    const robot = connect();
    const { fingerprint } = await robot.addKey('ocp', key, options);
    expect(await robot.getRescue(firstServer, options)).toEqual({
      number: firstServer,
      active: false,
      systems: ['linux', 'linuxold', 'vkvm', 'vkvmold'],
      architectures: [64, 32],
      password: undefined,
      fingerprints: [],
    });
    const armed = await robot.armRescue(firstServer, [fingerprint], options);
    expect(armed).toMatchObject({ active: true, systems: ['linux'], architectures: [64], fingerprints: [fingerprint] });
    expect(armed.password?.reveal()).toMatch(/^\w{14}$/);
    expect(JSON.stringify(armed)).not.toContain(armed.password?.reveal());
    expect(simulator.servers()[0]).toMatchObject({ armed: 'rescue' });
    expect(await robot.getRescue(firstServer, options)).toMatchObject({ active: true });
    expect(await robot.disarmRescue(firstServer, options)).toMatchObject({ active: false, password: undefined });
    expect(await robot.disarmRescue(firstServer, options)).toMatchObject({ active: false });
    expect(simulator.servers()[0]?.armed).toBeUndefined();
  });

  it('rescue: without a password beside keys, and without the deprecated field', async () => {
    const { connect, options } = await enter({ behaviour: { passwordBesideKeys: false, sendsArch: false } });
    const robot = connect();
    const { fingerprint } = await robot.addKey('ocp', key, options);
    expect((await robot.getRescue(firstServer, options)).architectures).toEqual([]);
    const armed = await robot.armRescue(firstServer, [fingerprint], options);
    expect([armed.password, armed.architectures]).toEqual([undefined, []]);
  });

  it('rescue: arming it again while it is armed is refused, or replaces it', async () => {
    const fixture = await enter();
    const robot = fixture.connect();
    const { fingerprint } = await robot.addKey('ocp', key, fixture.options);
    await robot.armRescue(firstServer, [fingerprint], fixture.options);
    expect(await outcomeCode(robot.armRescue(firstServer, [fingerprint], fixture.options))).toBe(
      'ROBOT_BOOT_ALREADY_ACTIVE',
    );
    const other = await enter({ behaviour: { armingWhileArmed: 'replace' } });
    const theirs = other.connect();
    await theirs.addKey('ocp', key, other.options);
    const passwords = [
      await theirs.armRescue(firstServer, [fingerprint], other.options),
      await theirs.armRescue(firstServer, [fingerprint], other.options),
    ].map(({ password }) => password?.reveal());
    expect(new Set(passwords).size).toBe(2);
  });

  it('rescue takes only stored keys, also several of them', async () => {
    const { connect, options } = await enter();
    const robot = connect();
    const { fingerprint } = await robot.addKey('ocp', key, options);
    const error = await thrownError(robot.armRescue(firstServer, [fingerprint.replace(/^../, '00')], options));
    expect([error.code, error.message]).toEqual(['ROBOT_REFUSED', expect.stringMatching(/invalid authorized_key/)]);
    const other = await robot.addKey('two', key.replace(/BwcHBwcHBw/, 'BwcIBwcHBw'), options);
    const armed = await robot.armRescue(firstServer, [fingerprint, other.fingerprint], options);
    expect(armed.fingerprints).toEqual([fingerprint, other.fingerprint]);
    await expect(robot.armRescue(firstServer, [], options)).rejects.toThrow(RangeError);
  });

  it('all of them: installers that would erase the server are named, and missing ones are left out', async () => {
    const { connect, options, simulator } = await enter({ servers: [{ number: 7, offers: ['rescue', 'linux'] }] });
    const robot = connect();
    expect(await robot.getBoot(7, options)).toMatchObject({
      number: 7,
      armedInstallers: [],
      rescue: { active: false },
    });
    const installer = { kind: 'linux', system: 'Debian 12 base', password: null, keys: [], at: 0 } as const;
    simulator.server(7).activation = installer;
    expect(await robot.getBoot(7, options)).toMatchObject({ armedInstallers: ['linux'], rescue: { active: false } });
  });

  it('a product without rescue is reported', async () => {
    const { connect, options } = await enter({ servers: [{ number: 7, offers: ['linux'] }] });
    const robot = connect();
    expect((await robot.getBoot(7, options)).rescue).toBeUndefined();
    expect(await outcomeCode(robot.getRescue(7, options))).toBe('ROBOT_NOT_AVAILABLE');
  });
});

describe('resets', () => {
  it('list their types and the power state; the answer to a reset has no server number', async () => {
    const { connect, options, simulator } = await enter();
    const robot = connect();
    expect(await robot.getReset(firstServer, options)).toEqual({
      number: firstServer,
      types: ['power', 'power_long', 'hw', 'man'],
      power: 'on',
    });
    await robot.reset(firstServer, 'power_long', options);
    expect(simulator.servers()[0]?.isOn).toBe(false);
    expect((await robot.getReset(firstServer, options)).power).toBe('off');
  });

  it('are refused for types that the server does not offer, and while a technician is on the way', async () => {
    const { connect, options, ask } = await enter({
      servers: [
        { number: 7, tellsOperatingStatus: false },
        { number: 8, resets: [] },
      ],
    });
    const robot = connect();
    expect((await robot.getReset(7, options)).power).toBeUndefined();
    expect(await outcomeCode(robot.reset(7, 'sw', options))).toBe('ROBOT_REFUSED');
    expect(await outcomeCode(robot.reset(8, 'hw', options))).toBe('ROBOT_NOT_AVAILABLE');
    await ask('POST /reset/7', { form: 'type=man' });
    const error = await thrownError(robot.reset(7, 'hw', options));
    expect([error.code, error.retry]).toEqual(['ROBOT_RESET_MANUAL_ACTIVE', 'after-change']);
  });
});

describe('keys', () => {
  it('storing a stored key succeeds', async () => {
    const { connect, options } = await enter();
    const robot = connect();
    const added = await robot.addKey('ocp', `${key} me@home`, options);
    expect(added).toMatchObject({ name: 'ocp', type: 'ED25519', data: key });
    expect(added.createdAt).toEqual(new Date('2031-01-01T00:00:00Z'));
    expect((await robot.addKey('another name', key, options)).name).toBe('ocp');
    await expect(robot.addKey('x', 'no key', options)).rejects.toThrow(RangeError);
  });
});

describe('unexpected answers', () => {
  const unexpected: readonly [string, unknown, RegExp][] = [
    ['no body', '', /GET \/server\/\{n\}: reply: /],
    ['a page', '<h1>hello</h1>', /is not JSON/],
    ['another thing', { reset: {} }, /server: Invalid input/],
    ['a field of another type', { server: { server_number: 'hush', status: 1 } }, /server\.server_number: /],
    [
      'another server',
      { server: { server_number: secondServer, status: 'ready', cancelled: false } },
      /server_number: it does not match/,
    ],
    ['a list', [], /reply: /],
  ];
  it.each(unexpected)('%s is refused: the error names the call and the field, and no value', async (_, body, text) => {
    const { connect, options, switchboard } = await enter();
    switchboard.fail('robot', /./, { kind: 'error', status: 200, body });
    const error = await thrownError(connect().getServer(firstServer, options));
    expect(error.code).toBe('ROBOT_REPLY_UNKNOWN');
    expect(error.message).toMatch(text);
    expect(error.message).not.toMatch(/hush|hello/);
  });

  it('unknown fields, and missing optional ones, pass', async () => {
    const { connect, options, switchboard } = await enter();
    const body = { server: { server_number: firstServer, status: 'new', cancelled: false, what: [{}] }, more: 1 };
    switchboard.fail('robot', /./, { kind: 'error', status: 200, body });
    expect(await connect().getServer(firstServer, options)).toMatchObject({
      name: '',
      status: 'in process',
      addresses: [],
    });
  });

  it('an answer that is too long is not read to its end', async () => {
    const { connect, options, switchboard } = await enter();
    switchboard.fail('robot', /./, { kind: 'error', status: 200, body: 'x'.repeat(9 * 1024 * 1024) });
    expect(await outcomeCode(connect().getServer(firstServer, options))).toBe('ROBOT_REPLY_UNKNOWN');
  });

  it('a redirect is not followed, because it would send the credentials along', async () => {
    const { connect, options, switchboard, simulator, names } = await enter();
    const headers = { location: `${simulator.line.url}/server/${secondServer}` };
    switchboard.fail('robot', /./, { kind: 'error', status: 302, body: '', headers });
    expect(await outcomeCode(connect().getServer(firstServer, options))).toBe('ROBOT_REPLY_UNKNOWN');
    expect(names()).toHaveLength(1);
  });
});
