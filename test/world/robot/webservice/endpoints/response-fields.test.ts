import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../robot-fixture.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const triple = { server_ip: '127.42.60.11', server_ipv6_net: '2001:db8:60:e9da::', server_number: 3140011 };

describe('empty lists differ by endpoint', () => {
  it.each(['/server', '/rdns', '/vswitch'])('%s is an empty list', async (path) => {
    const { ask } = await enter({ servers: [] });
    expect(await ask(`GET ${path}`)).toMatchObject({ status: 200, text: '[]' });
  });

  it.each(['/ip', '/subnet', '/key', '/failover', '/reset', '/firewall/template'])('%s is not found', async (path) => {
    const { ask } = await enter({ servers: [] });
    expect((await ask(`GET ${path}`)).body).toEqual({
      error: { status: 404, code: 'NOT_FOUND', message: 'not found' },
    });
  });
});

describe('servers', () => {
  it('are wrapped one by one, with masks as text; a single one shows its features', async () => {
    const { ask } = await enter();
    const { body } = await ask('GET /server');
    const summary = {
      ...triple,
      server_name: '',
      product: 'AX42',
      dc: 'FSN1-DC18',
      traffic: 'unlimited',
      status: 'ready',
      cancelled: false,
      paid_until: '2031-05-14',
      ip: ['127.42.60.11'],
      subnet: [{ ip: '2001:db8:60:e9da::', mask: '64' }],
    };
    expect(body).toHaveLength(4);
    expect(body[0]).toEqual({ server: summary });
    const flags = { reset: true, rescue: true, vnc: true, windows: false, plesk: false, cpanel: false };
    expect((await ask('GET /server/3140011')).body).toEqual({
      server: { ...summary, ...flags, wol: true, hot_swap: false, linked_storagebox: null },
    });
  });

  it('are also found by their main address (deprecated)', async () => {
    const { ask } = await enter();
    expect((await ask('GET /server/127.42.60.12')).body.server.server_number).toBe(3140012);
  });

  it('without an IPv4 address have none, and no list of them', async () => {
    const { ask } = await enter({ servers: [{ number: 7, address: null }] });
    expect((await ask('GET /server/7')).body.server).toMatchObject({ server_ip: null, ip: null });
    expect((await ask('GET /server/7')).body.server.subnet).toHaveLength(1);
  });

  it('have a name that can be changed, also to an empty one', async () => {
    const { ask } = await enter();
    const rename = (form?: string) => ask('POST /server/3140011', form === undefined ? {} : { form });
    expect((await rename('server_name=ocp+worker%2Fa')).body.server).toMatchObject({
      server_name: 'ocp worker/a',
      reset: true,
    });
    expect((await rename('server_name=')).body.server.server_name).toBe('');
    expect((await rename()).body.error).toMatchObject({
      code: 'INVALID_INPUT',
      missing: ['server_name'],
      invalid: null,
    });
  });

  it('the rescue flag is not reliable', async () => {
    const { ask } = await enter({ servers: [{ number: 7, saysRescue: false }] });
    expect((await ask('GET /server/7')).body.server.rescue).toBe(false);
    expect((await ask('POST /boot/7/rescue', { form: 'os=linux' })).status).toBe(200);
  });
});

describe('addresses', () => {
  it('a single one shows gateway, mask and broadcast', async () => {
    const { ask } = await enter();
    const { body } = await ask('GET /ip/127.42.60.11');
    expect(body.ip).toMatchObject({ gateway: '127.42.60.1', mask: 26, broadcast: '127.42.60.63', separate_mac: null });
    const list = (await ask('GET /ip?server_ip=127.42.60.11')).body;
    expect(list).toHaveLength(1);
    expect(list[0].ip).not.toHaveProperty('gateway');
  });

  it('subnets have a numeric mask, and IPv6 has its fixed gateway', async () => {
    const { ask } = await enter();
    const subnet = encodeURIComponent('2001:db8:60:e9da::');
    expect((await ask(`GET /subnet/${subnet}`)).body.subnet).toMatchObject({
      mask: 64,
      gateway: 'fe80::1',
      failover: false,
      server_ip: '127.42.60.11',
    });
    expect(statusAndCodeOf(await ask('GET /subnet/2001:db8::'))).toBe('404 SUBNET_NOT_FOUND');
  });

  it('only traffic warnings can be changed', async () => {
    const { ask } = await enter();
    const post = (form: string) => ask('POST /ip/127.42.60.11', { form });
    expect((await post('traffic_warnings=true&traffic_hourly=5')).body.ip).toMatchObject({
      traffic_warnings: true,
      traffic_hourly: 5,
      traffic_daily: 2000,
    });
    expect((await post('traffic_warnings=yes')).body.error.invalid).toEqual(['traffic_warnings']);
  });

  it('an additional one may have a MAC of its own, once', async () => {
    const { ask } = await enter({ servers: [{ number: 7, extraIps: ['127.42.60.50'] }] });
    const mac = (method: string) => ask(`${method} /ip/127.42.60.50/mac`);
    expect(statusAndCodeOf(await mac('GET'))).toBe('404 MAC_NOT_FOUND');
    expect(statusAndCodeOf(await mac('DELETE'))).toBe('409 MAC_NOT_FOUND');
    const { body } = await mac('PUT');
    expect(body.mac).toEqual({ ip: '127.42.60.50', mac: expect.stringMatching(/^00:50:56(:[0-9a-f]{2}){3}$/) });
    expect(statusAndCodeOf(await mac('PUT'))).toBe('409 MAC_ALREADY_SET');
    expect((await mac('GET')).body).toEqual(body);
    expect((await mac('DELETE')).body.mac.mac).toBeNull();
    expect(statusAndCodeOf(await ask('GET /ip/127.42.60.11/mac'))).toBe('404 MAC_NOT_AVAILABLE');
  });

  it('reverse DNS names: PUT creates one, POST creates or changes one, DELETE has an empty answer', async () => {
    const { ask } = await enter();
    const rdns = (method: string, ptr?: string) =>
      ask(`${method} /rdns/127.42.60.11`, ptr === undefined ? {} : { form: `ptr=${ptr}` });
    expect(statusAndCodeOf(await rdns('GET'))).toBe('404 RDNS_NOT_FOUND');
    expect(await rdns('PUT', 'a.example.org')).toMatchObject({ status: 201, body: { rdns: { ptr: 'a.example.org' } } });
    expect(statusAndCodeOf(await rdns('PUT', 'b.example.org'))).toBe('409 RDNS_ALREADY_EXISTS');
    expect(await rdns('POST', 'b.example.org')).toMatchObject({
      status: 200,
      body: { rdns: { ptr: 'b.example.org' } },
    });
    expect((await ask('GET /rdns')).body).toEqual([{ rdns: { ip: '127.42.60.11', ptr: 'b.example.org' } }]);
    expect((await rdns('POST')).body.error.missing).toEqual(['ptr']);
    expect(await rdns('DELETE')).toMatchObject({ status: 200, text: '' });
    expect(await rdns('POST', 'c.example.org')).toMatchObject({ status: 201 });
    expect(statusAndCodeOf(await ask('GET /rdns/192.0.2.1'))).toBe('404 IP_NOT_FOUND');
  });

  it('traffic needs dates in the format of its type', async () => {
    const { ask } = await enter();
    const post = (form: string) => ask('POST /traffic', { form });
    expect((await post('type=month&from=2031-01-01&to=2031-01-31&ip[]=127.42.60.11')).body.traffic.data).toEqual({
      '127.42.60.11': { in: 0, out: 0, sum: 0 },
    });
    expect((await post('type=year&from=2031-01-01&to=2031-02&ip=192.0.2.1')).body.error.invalid).toEqual([
      'from',
      'ip',
    ]);
    expect((await post('type=day')).body.error.missing).toEqual(['from', 'to']);
  });
});

describe('resets', () => {
  it('show the types of the board, and a single one whether the server runs', async () => {
    const { ask, room } = await enter();
    const types = ['power', 'power_long', 'hw', 'man'];
    expect((await ask('GET /reset')).body[0]).toEqual({ reset: { ...triple, type: types } });
    expect((await ask('GET /reset/3140011')).body.reset).toEqual({
      ...triple,
      type: types,
      operating_status: 'running',
    });
    room.server(3140011).machine.cut();
    expect((await ask('GET /reset/3140011')).body.reset.operating_status).toBe('shut off');
  });

  it('the answer to one has no number, as in the documented sample', async () => {
    const { ask } = await enter();
    const { server_number: _, ...identity } = triple;
    expect((await ask('POST /reset/3140011', { form: 'type=hw' })).body).toEqual({
      reset: { ...identity, type: 'hw' },
    });
  });

  it.each([
    ['', { missing: ['type'], invalid: null }],
    ['type=sw', { missing: null, invalid: ['type'] }],
    ['type=explode', { missing: null, invalid: ['type'] }],
  ])('%j is not supported by this board', async (form, error) => {
    const { ask } = await enter();
    expect((await ask('POST /reset/3140011', { form })).body.error).toMatchObject({ status: 400, ...error });
  });

  it('a server without the hardware is not in the list, and gets an error', async () => {
    const { ask } = await enter({ servers: [{ number: 7, resets: [] }] });
    expect(statusAndCodeOf(await ask('GET /reset'))).toBe('404 NOT_FOUND');
    expect(statusAndCodeOf(await ask('GET /reset/7'))).toBe('404 RESET_NOT_AVAILABLE');
    expect(statusAndCodeOf(await ask('POST /reset/7', { form: 'type=hw' }))).toBe('404 RESET_NOT_AVAILABLE');
  });

  it('wake on LAN answers with the server, and is not available for every server', async () => {
    const { ask } = await enter({
      servers: [
        { number: 7, wakeOnLan: false },
        { number: 8, power: 'off' },
      ],
    });
    expect(statusAndCodeOf(await ask('POST /wol/7'))).toBe('404 WOL_NOT_AVAILABLE');
    expect((await ask('POST /wol/8')).body).toEqual({ wol: (await ask('GET /wol/8')).body.wol });
    expect((await ask('GET /reset/8')).body.reset.operating_status).toBe('running');
  });
});
