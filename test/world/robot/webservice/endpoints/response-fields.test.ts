import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../robot-fixture.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const triple = { server_ip: '127.42.60.11', server_ipv6_net: '2001:db8:60:e9da::', server_number: 3140011 };

describe('empty lists differ by endpoint', () => {
  it.each(['/server', '/vswitch'])('%s is an empty list', async (path) => {
    const { ask } = await enter({ servers: [] });
    expect(await ask(`GET ${path}`)).toMatchObject({ status: 200, text: '[]' });
  });

  it.each(['/subnet', '/key'])('%s is not found', async (path) => {
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
  });

  it('subnets have a numeric mask, and IPv6 has its fixed gateway', async () => {
    const { ask } = await enter();
    const { body } = await ask('GET /subnet?server_ip=127.42.60.11');
    expect(body).toMatchObject([
      {
        subnet: { ip: '2001:db8:60:e9da::', mask: 64, gateway: 'fe80::1', failover: false, server_ip: '127.42.60.11' },
      },
    ]);
    expect(statusAndCodeOf(await ask('GET /subnet?server_ip=192.0.2.1'))).toBe('404 NOT_FOUND');
  });

  it('an additional one is found like the main one', async () => {
    const { ask } = await enter({ servers: [{ number: 7, extraIps: ['127.42.60.50'] }] });
    expect((await ask('GET /ip/127.42.60.50')).body.ip).toMatchObject({ server_number: 7, server_ip: '127.42.60.11' });
    expect(statusAndCodeOf(await ask('GET /ip/192.0.2.1'))).toBe('404 IP_NOT_FOUND');
  });
});

describe('resets', () => {
  it('show the types of the board, and whether the server runs', async () => {
    const { ask, room } = await enter();
    const types = ['power', 'power_long', 'hw', 'man'];
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

  it('a server without the hardware gets an error', async () => {
    const { ask } = await enter({ servers: [{ number: 7, resets: [] }] });
    expect(statusAndCodeOf(await ask('GET /reset/7'))).toBe('404 RESET_NOT_AVAILABLE');
    expect(statusAndCodeOf(await ask('POST /reset/7', { form: 'type=hw' }))).toBe('404 RESET_NOT_AVAILABLE');
  });
});
