import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../robot-fixture.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

describe('vSwitches', () => {
  const vswitches = [{ name: 'ocp', vlan: 4010, servers: [3140013] }];

  it('are unwrapped objects, and changes have empty answers', async () => {
    const { ask, clock } = await enter();
    const made = await ask('POST /vswitch', { form: 'name=ocp&vlan=4010' });
    const vswitch = { id: expect.any(Number), name: 'ocp', vlan: 4010, cancelled: false };
    expect(made).toMatchObject({ status: 201 });
    expect(made.body).toEqual({ ...vswitch, server: [], subnet: [], cloud_network: [] });
    const { id } = made.body;
    expect((await ask('GET /vswitch')).body).toEqual([vswitch]);
    const silent = { text: '', status: 201 };
    expect(await ask(`POST /vswitch/${id}/server`, { form: 'server=3140011' })).toMatchObject(silent);
    await clock.pass(60);
    expect(await ask(`DELETE /vswitch/${id}/server`, { form: 'server[]=3140011' })).toMatchObject({
      text: '',
      status: 200,
    });
    await clock.pass(60);
    expect((await ask(`GET /vswitch/${id}`)).body.server).toEqual([]);
    expect(statusAndCodeOf(await ask('GET /vswitch/1'))).toBe('404 NOT_FOUND');
  });

  it.each(['in process', 'processing'])(
    'a member is added slowly (%s), and other changes are refused meanwhile',
    async (inProcess) => {
      const { ask, clock } = await enter({ accounts: [{ vswitches }], behaviour: { inProcess } });
      const [{ id }] = (await ask('GET /vswitch')).body;
      const members = async () =>
        (await ask(`GET /vswitch/${id}`)).body.server.map((one: Record<string, unknown>) => [
          one['server_number'],
          one['status'],
        ]);
      await ask(`POST /vswitch/${id}/server`, { form: 'server[]=3140011&server[]=3140012' });
      const [third, first, second] = [
        [3140013, 'ready'],
        [3140011, inProcess],
        [3140012, inProcess],
      ];
      expect(await members()).toEqual([third, first, second]);
      for (const call of [`POST /vswitch/${id}/server`, `DELETE /vswitch/${id}/server`])
        expect(statusAndCodeOf(await ask(call, { form: 'server=3140014' }))).toBe('409 VSWITCH_IN_PROCESS');
      await clock.pass(30);
      expect(await members()).toEqual([third, [3140011, 'ready'], [3140012, 'ready']]);
      await ask(`DELETE /vswitch/${id}/server`, { form: 'server=3140013' });
      expect((await members())[0]).toEqual([3140013, inProcess]);
      await clock.pass(30);
      expect(await members()).toHaveLength(2);
    },
  );

  it.each([
    ['vlan=4010', '400 INVALID_INPUT'],
    ['name=a&vlan=3999', '400 INVALID_INPUT'],
    ['name=a&vlan=4092', '400 INVALID_INPUT'],
    ['name=a&vlan=4010', '409 VSWITCH_VLAN_NOT_UNIQUE'],
    ['name=a&vlan=4011', '409 VSWITCH_LIMIT_REACHED'],
  ])('%s is refused', async (form, code) => {
    const { ask } = await enter({ accounts: [{ vswitches }], behaviour: { mostVSwitches: 1 } });
    expect(statusAndCodeOf(await ask('POST /vswitch', { form }))).toBe(code);
  });

  it('a server is in five at most', async () => {
    const many = Array.from({ length: 6 }, (_, index) => ({
      name: `v${index}`,
      vlan: 4000 + index,
      servers: index < 5 ? [3140011] : [],
    }));
    const { ask } = await enter({ accounts: [{ vswitches: many }] });
    const last = (await ask('GET /vswitch')).body.at(-1);
    expect(statusAndCodeOf(await ask(`POST /vswitch/${last.id}/server`, { form: 'server=3140011' }))).toBe(
      '409 VSWITCH_PER_SERVER_LIMIT_REACHED',
    );
    expect(statusAndCodeOf(await ask(`POST /vswitch/${last.id}/server`, { form: 'server=1' }))).toBe(
      '404 SERVER_NOT_FOUND',
    );
    expect(statusAndCodeOf(await ask(`POST /vswitch/${last.id}/server`))).toBe('400 INVALID_INPUT');
  });
});

describe('failover addresses', () => {
  const accounts = [
    {
      failovers: [
        { ip: '198.51.100.7', server: 3140011 },
        { ip: '2001:db8:ff::', server: 3140011 },
      ],
    },
  ];
  const path = '/failover/198.51.100.7';
  const to = (address: string) => ({ form: `active_server_ip=${address}` });

  it('show the server of their order, and their route', async () => {
    const { ask } = await enter({ accounts });
    expect((await ask(`GET ${path}`)).body.failover).toEqual({
      ip: '198.51.100.7',
      netmask: '255.255.255.255',
      server_ip: '127.42.60.11',
      server_ipv6_net: '2001:db8:60:e9da::',
      server_number: 3140011,
      active_server_ip: '127.42.60.11',
    });
  });

  it('are switched while the caller waits, and by one caller at a time', async () => {
    const { ask, clock } = await enter({ accounts });
    let answer: Awaited<ReturnType<typeof ask>> | undefined;
    const switching = ask(`POST ${path}`, to('127.42.60.12')).then((one) => {
      answer = one;
    });
    await expect
      .poll(async () => statusAndCodeOf(await ask(`POST ${path}`, to('127.42.60.13'))))
      .toBe('409 FAILOVER_LOCKED');
    await clock.pass(49);
    expect((await ask(`GET ${path}`)).body.failover.active_server_ip).toBe('127.42.60.11');
    expect(answer).toBeUndefined();
    await clock.pass(1);
    await switching;
    expect(answer?.body.failover.active_server_ip).toBe('127.42.60.12');
    expect(statusAndCodeOf(await ask(`POST ${path}`, to('127.42.60.12')))).toBe('409 FAILOVER_ALREADY_ROUTED');
  });

  it('a net is routed to a net', async () => {
    const { ask, clock } = await enter({ accounts });
    const moved = ask('POST /failover/2001:db8:ff::', to('2001:db8:60:e9db::'));
    await expect
      .poll(async () => {
        await clock.pass(10);
        return (await ask('GET /failover/2001:db8:ff::')).body.failover.active_server_ip;
      })
      .toBe('2001:db8:60:e9db::');
    expect((await moved).status).toBe(200);
  });

  it.each([
    ['192.0.2.1', '404 FAILOVER_NEW_SERVER_NOT_FOUND'],
    ['2001:db8:60:e9db::', '404 FAILOVER_NEW_SERVER_NOT_FOUND'],
  ])('%s is no server of the account', async (address, code) => {
    const { ask } = await enter({ accounts });
    expect(statusAndCodeOf(await ask(`POST ${path}`, to(address)))).toBe(code);
    expect(statusAndCodeOf(await ask(`POST ${path}`))).toBe('400 INVALID_INPUT');
    expect(statusAndCodeOf(await ask('POST /failover/192.0.2.9', to('127.42.60.11')))).toBe('404 NOT_FOUND');
  });
});
