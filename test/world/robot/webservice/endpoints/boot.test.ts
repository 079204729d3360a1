import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { statusAndCodeOf, useRobotFixtures } from '../../robot-fixture.ts';
import { parsePublicKey } from '../public-key.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

function newKey(): { data: string; fingerprint: string } {
  const raw = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const lengths = [Buffer.from([0, 0, 0, 11]), Buffer.from([0, 0, 0, 32])];
  const blob = Buffer.concat([lengths[0]!, Buffer.from('ssh-ed25519'), lengths[1]!, raw]);
  const data = `ssh-ed25519 ${blob.toString('base64')}`;
  return { data, fingerprint: parsePublicKey(data)?.fingerprint ?? '' };
}

const [one, two] = [newKey(), newKey()];
const accounts = [
  {
    keys: [
      { name: 'one', data: one.data },
      { name: 'two', data: two.data },
    ],
  },
];
const path = '/boot/3140011/rescue';

describe('rescue', () => {
  it('shows lists while it is inactive, and one value each while it is active', async () => {
    const { ask } = await enter({ accounts });
    const inactive = {
      os: ['linux', 'linuxold', 'vkvm', 'vkvmold'],
      arch: [64, 32],
      active: false,
      password: null,
      authorized_key: [],
      host_key: [],
      boot_time: null,
    };
    expect((await ask(`GET ${path}`)).body.rescue).toMatchObject(inactive);
    const { body } = await ask(`POST ${path}`, { form: `os=linux&authorized_key=${one.fingerprint}` });
    expect(body.rescue).toMatchObject({
      os: 'linux',
      arch: 64,
      active: true,
      password: expect.stringMatching(/^\w{14}$/),
      authorized_key: [
        {
          key: {
            name: 'one',
            fingerprint: one.fingerprint,
            type: 'ED25519',
            size: 256,
            created_at: '2031-01-01 00:00:00',
          },
        },
      ],
    });
    expect(body.rescue.authorized_key[0].key).not.toHaveProperty('data');
    expect((await ask(`GET ${path}`)).body).toEqual(body);
    expect((await ask(`DELETE ${path}`)).body.rescue).toMatchObject(inactive);
    expect((await ask(`DELETE ${path}`)).status).toBe(200);
  });

  it.each([
    ['one plain', `authorized_key=${one.fingerprint}`, 1],
    ['brackets', `authorized_key[]=${one.fingerprint}&authorized_key[]=${two.fingerprint}`, 2],
    ['numbers, encoded', `authorized_key%5B0%5D=${one.fingerprint}&authorized_key%5B1%5D=${two.fingerprint}`, 2],
    ['capitals', `authorized_key=${one.fingerprint.toUpperCase()}`, 1],
  ])('accepts fingerprints of stored keys: %s', async (_, keys, count) => {
    const { ask } = await enter({ accounts });
    expect((await ask(`POST ${path}`, { form: `os=linux&${keys}` })).body.rescue.authorized_key).toHaveLength(count);
  });

  it.each([
    ['', { missing: ['os'] }],
    ['os=windows', { invalid: ['os'] }],
    ['os=linux&authorized_key=00:11', { invalid: ['authorized_key'] }],
    [`os=linux&authorized_key=${encodeURIComponent(one.data)}`, { invalid: ['authorized_key'] }],
  ])('refuses %j with the name of the parameter, and arms nothing', async (form, error) => {
    const { ask, room } = await enter({ accounts });
    expect((await ask(`POST ${path}`, { form })).body.error).toMatchObject({ code: 'INVALID_INPUT', ...error });
    expect(room.servers()[0]?.armed).toBeUndefined();
  });

  it('has another password at each activation, and remembers the last one', async () => {
    const { ask } = await enter();
    expect(statusAndCodeOf(await ask(`GET ${path}/last`))).toBe('404 NOT_FOUND');
    const first = (await ask(`POST ${path}`, { form: 'os=linux' })).body.rescue.password;
    await ask(`DELETE ${path}`);
    const second = (await ask(`POST ${path}`, { form: 'os=linux' })).body.rescue.password;
    expect(second).not.toBe(first);
    await ask(`DELETE ${path}`);
    expect((await ask(`GET ${path}/last`)).body.rescue).toMatchObject({ os: 'linux', password: second, active: false });
  });

  it('expires after an hour without a restart of the server', async () => {
    const { ask, clock } = await enter();
    await ask(`POST ${path}`, { form: 'os=linux' });
    await clock.pass(3599);
    expect((await ask(`GET ${path}`)).body.rescue.active).toBe(true);
    await clock.pass(1);
    expect((await ask(`GET ${path}`)).body.rescue.active).toBe(false);
  });

  it("armed twice: refused, or by a test's choice, the new one replaces it", async () => {
    const refusing = await enter({ accounts });
    await refusing.ask(`POST ${path}`, { form: 'os=linux' });
    expect(statusAndCodeOf(await refusing.ask(`POST ${path}`, { form: 'os=linux' }))).toBe('409 BOOT_ALREADY_ENABLED');
    const replacing = await enter({ accounts, behaviour: { armingWhileArmed: 'replace' } });
    await replacing.ask(`POST ${path}`, { form: 'os=linux' });
    const { body } = await replacing.ask(`POST ${path}`, { form: `os=linux&authorized_key=${two.fingerprint}` });
    expect(body.rescue.authorized_key[0].key.name).toBe('two');
  });

  it('undocumented variants are available: no password besides keys, no arch', async () => {
    const { ask } = await enter({ accounts, behaviour: { passwordBesideKeys: false, sendsArch: false } });
    const { body } = await ask(`POST ${path}`, { form: `os=linux&authorized_key=${one.fingerprint}` });
    expect(body.rescue).toMatchObject({ active: true, password: null });
    expect(body.rescue).not.toHaveProperty('arch');
  });
});

describe('boot configurations', () => {
  it('at most one is active, and the others still show their lists', async () => {
    const { ask, room } = await enter();
    const server = room.server(3140011);
    server.activation = { kind: 'linux', system: 'Debian 12 base', password: null, keys: [], at: 0 };
    expect(statusAndCodeOf(await ask(`POST ${path}`, { form: 'os=linux' }))).toBe('409 BOOT_ALREADY_ENABLED');
    const { boot } = (await ask('GET /boot/3140011')).body;
    expect(boot.linux).toMatchObject({ active: true, dist: 'Debian 12 base', lang: 'en' });
    expect(boot.rescue).toMatchObject({ active: false });
    await ask(`DELETE ${path}`);
    expect(room.servers()[0]?.armed).toBe('linux');
  });

  it('null is a configuration that a product does not offer, and arming it is refused', async () => {
    const { ask } = await enter({ servers: [{ number: 7, offers: ['linux'] }] });
    const { boot } = (await ask('GET /boot/7')).body;
    expect(boot).toMatchObject({ rescue: null, vnc: null, windows: null, plesk: null, cpanel: null });
    expect(statusAndCodeOf(await ask('POST /boot/7/rescue', { form: 'os=linux' }))).toBe('404 BOOT_NOT_AVAILABLE');
  });
});
