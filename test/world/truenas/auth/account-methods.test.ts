import { afterEach, describe, expect, test } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const key = 'k'.repeat(64);
let nas: TrueNasFixture;
afterEach(() => nas.close());

/** Logs in as a user who has only these roles. */
async function as(roles: readonly string[], version = '25.10'): Promise<RawClient> {
  nas = await startTrueNasFixture({
    version,
    seed: { users: [{ name: 'root' }, { name: 'worker', apiKey: key, roles }] },
  });
  const client = await nas.connect();
  const login = { mechanism: 'API_KEY_PLAIN', username: 'worker', api_key: `2-${key}` };
  expect((await client.call('auth.login_ex', login)).response_type).toBe('SUCCESS');
  return client;
}

/** Whether a call passes the authorization, whatever its result. */
async function may(client: RawClient, method: string, ...params: unknown[]): Promise<boolean> {
  const { error } = await client.ask(method, ...params);
  return error?.data?.reason !== '[EACCES] Not authorized';
}

type Call = readonly [role: string, method: string, params: readonly unknown[]];
const calls: Call[] = [
  ['READONLY_ADMIN', 'system.info', []],
  ['SYSTEM_GENERAL_READ', 'system.ready', []],
  ['POOL_READ', 'pool.query', []],
  ['DATASET_READ', 'pool.dataset.query', []],
  ['DATASET_WRITE', 'pool.dataset.create', [{}]],
  ['DATASET_WRITE', 'pool.dataset.unlock', ['tank', {}]],
  ['DATASET_DELETE', 'pool.dataset.delete', ['tank/none']],
  ['SNAPSHOT_READ', 'pool.snapshot.query', []],
  ['SNAPSHOT_WRITE', 'pool.snapshot.create', [{}]],
  ['SNAPSHOT_DELETE', 'pool.snapshot.delete', ['tank@none']],
  ['FILESYSTEM_ATTRS_READ', 'filesystem.stat', ['/mnt/tank']],
  ['FILESYSTEM_DATA_WRITE', 'filesystem.mkdir', [{}]],
  ['NETWORK_INTERFACE_READ', 'interface.query', []],
  ['DISK_READ', 'disk.query', []],
  ['ALERT_LIST_READ', 'alert.list', []],
  ['ZFS_RESOURCE_READ', 'zfs.resource.query', []],
  ['VM_READ', 'vm.query', []],
  ['VM_READ', 'vm.get_available_memory', []],
  ['VM_WRITE', 'vm.create', [{}]],
  ['VM_WRITE', 'vm.clone', [1]],
  ['VM_DEVICE_READ', 'vm.device.query', []],
  ['VM_DEVICE_READ', 'vm.device.nic_attach_choices', []],
  ['VM_DEVICE_WRITE', 'vm.device.create', [{}]],
  ['VM_DEVICE_WRITE', 'vm.device.convert', [{}]],
  ['ACCOUNT_READ', 'user.query', []],
  ['PRIVILEGE_READ', 'privilege.query', []],
  ['API_KEY_READ', 'api_key.query', []],
];

describe('authorization', () => {
  test.each(calls)('%s is sufficient for %s', async (role, method, params) => {
    expect(await may(await as([role]), method, ...params)).toBe(true);
  });

  test.each(calls)('without %s, %s is refused', async (role, method, params) => {
    const bringers = [
      'READONLY_ADMIN',
      'VM_WRITE',
      'VM_DEVICE_READ',
      'VM_DEVICE_WRITE',
      'DATASET_WRITE',
      'SNAPSHOT_WRITE',
    ];
    const others = calls.map(([other]) => other).filter((other) => other !== role && !bringers.includes(other));
    expect(await may(await as([...new Set(others), 'MAIL_WRITE']), method, ...params)).toBe(false);
  });

  test('uploads, downloads and the neighbour table need the full administrator role', async () => {
    const client = await as(['READONLY_ADMIN', 'VM_DEVICE_WRITE', 'DATASET_WRITE', 'FILESYSTEM_FULL_CONTROL']);
    const { error } = await client.ask('core.download', 'filesystem.get', ['/mnt/tank/a'], 'a');
    expect(error?.data).toMatchObject({ error: 13, reason: '[EACCES] Not authorized' });
    expect(await may(client, 'core.arp')).toBe(false);
  });

  test('the login lists a role with all roles that it includes', async () => {
    const client = await as(['VM_DEVICE_WRITE', 'NO_SUCH_ROLE']);
    const roles = (await client.call('auth.me')).privilege.roles.$set;
    expect(roles).toEqual(['VM_DEVICE_READ', 'VM_DEVICE_WRITE', 'VM_READ', 'VM_WRITE']);
    expect((await (await nas.login()).call('auth.me')).privilege.roles.$set).toContain('FULL_ADMIN');
  });
});

test('the NAS lists the addresses that it has seen itself', async () => {
  const neighbours = [
    { ip: '192.0.2.20', mac: '02:00:00:00:00:20', interface: 'br0' },
    { ip: '192.0.2.21', mac: '02:00:00:00:00:21', interface: 'eno1' },
  ];
  nas = await startTrueNasFixture({ seed: { neighbours } });
  const client = await nas.login();
  expect(await client.call('core.arp', { interface: 'br0' })).toEqual({ '192.0.2.20': '02:00:00:00:00:20' });
  expect(await client.call('core.arp', { ip: '192.0.2.22' })).toEqual({});
});

describe('accounts', () => {
  test('users, their privileges and keys can be read, but not the secret of a key', async () => {
    nas = await startTrueNasFixture({
      seed: { users: [{ name: 'root' }, { name: 'worker', apiKey: key, roles: ['VM_READ'] }] },
    });
    const client = await nas.login();
    const [worker] = await client.call('user.query', [['username', '=', 'worker']]);
    expect(worker).toMatchObject({ roles: ['VM_READ'], api_keys: [2] });
    const [privilege] = await client.call('privilege.query', [['roles', 'rin', 'VM_READ']]);
    expect(privilege.local_groups.map(({ id }: { id: number }) => id)).toEqual([worker.group.id]);
    const read = await client.call('api_key.get_instance', 2);
    expect(read).toMatchObject({ username: 'worker', revoked: false, expires_at: null });
    expect(JSON.stringify(read)).not.toContain(key);
    nas.room.revokeKey('worker');
    expect(await client.call('api_key.query', [['revoked', '=', true]])).toMatchObject([{ id: 2, expires_at: null }]);
    expect((await client.call('api_key.my_keys')).map(({ id }: { id: number }) => id)).toEqual([1]);
    expect((await client.ask('user.get_instance', 9)).error?.data.extra).toEqual([[null, 'User 9 does not exist', 2]]);
  });

  test('roles are listed with what they include', async () => {
    const client = await as(['PRIVILEGE_READ'], '26');
    const [role] = await client.call('privilege.roles', [['name', '=', 'VM_DEVICE_WRITE']]);
    expect(role.includes).toEqual(['VM_WRITE', 'VM_DEVICE_READ']);
  });
});
