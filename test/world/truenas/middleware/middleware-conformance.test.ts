import * as x509 from '@peculiar/x509';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueServingCertificate } from '../protocol/serving-certificate.ts';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from '../testing/true-nas-fixture.ts';

const gibibyte = 1024 ** 3;
const seed = {
  pools: [{ name: 'tank' }],
  bridges: ['br0'],
  interfaces: [{ name: 'eno1', type: 'PHYSICAL', address: '192.0.2.10/24' }],
  datasets: [{ name: 'tank/iso' }, { name: 'tank/v', volumeBytes: gibibyte }],
  files: [{ path: '/mnt/tank/iso/a.iso', content: 'a' }],
};
let nas: TrueNasFixture;
let client: RawClient;

beforeEach(async () => {
  nas = await startTrueNasFixture({ seed });
  client = await nas.login();
});
afterEach(() => nas.close());

const argumentErrorsOf = async (method: string, ...params: unknown[]): Promise<string[]> => {
  const { error } = await client.ask(method, ...params);
  return error?.code === -32602 ? error.data.extra.map(([path]: [string]) => path) : [`code ${error?.code}`];
};
const fieldsOf = async (method: string, ...params: unknown[]): Promise<string[]> =>
  Object.keys([await client.call(method, ...params)].flat()[0]);

describe('certificates of the simulator', () => {
  test('name the keys that strict verifiers check', async () => {
    const { ca, cert } = await issueServingCertificate('192.0.2.1', 'authority');
    const [authority, serving] = [new x509.X509Certificate(ca), new x509.X509Certificate(cert)];
    const subject = authority.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
    expect(subject).toMatch(/^[0-9a-f]{40}$/);
    expect(serving.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(subject);
  });
});

describe("results have the fields of the middleware's models", () => {
  test('pools report whether they are upgraded, interfaces list members of every type', async () => {
    expect(await fieldsOf('pool.query')).toContain('is_upgraded');
    expect(await fieldsOf('interface.query')).toEqual(expect.arrayContaining(['lag_ports', 'bridge_members']));
  });

  test('statfs and auth.me have no other fields', async () => {
    const numbers = await fieldsOf('filesystem.statfs', '/mnt/tank');
    expect(numbers.filter((name) => name.includes('files'))).toEqual(['files', 'free_files']);
    expect(await fieldsOf('auth.me')).not.toContain('login_at');
  });
});

describe('refused arguments', () => {
  // The paths were observed with the models of 25.10.1.
  test('name each member of a union, and that a key is optional', async () => {
    expect(
      await argumentErrorsOf('pool.dataset.create', { name: 'tank/x', quota: 5, atime: 'x', recordsize: 3 }),
    ).toEqual(
      expect.arrayContaining([
        'data.PoolDatasetCreateFilesystem.quota.constrained-int',
        'data.PoolDatasetCreateFilesystem.quota.literal[0,None]',
        'data.PoolDatasetCreateFilesystem.quota.is-instance[_NotRequired]',
        "data.PoolDatasetCreateFilesystem.atime.literal['ON','OFF','INHERIT']",
        'data.PoolDatasetCreateFilesystem.recordsize.constrained-str',
        'data.PoolDatasetCreateVolume.volsize',
      ]),
    );
    expect(await argumentErrorsOf('pool.dataset.update', 'tank/iso', { volsize: 'x', quota: 5 })).toEqual([
      'data.volsize',
      'data.quota.constrained-int',
      'data.quota.literal[0,None]',
      'data.quota.is-instance[_NotRequired]',
    ]);
  });

  test('include a machine whose processors are pinned to none, or to another number', async () => {
    const pinned = { name: 'a', memory: 512, vcpus: 2, pin_vcpus: true };
    expect(await argumentErrorsOf('vm.create', pinned)).toEqual(['vm_create.cpuset']);
    expect(await argumentErrorsOf('vm.create', { ...pinned, cpuset: '0-2' })).toEqual(['vm_create.pin_vcpus']);
    expect((await client.call('vm.create', { ...pinned, cpuset: '0,3' })).id).toBeGreaterThan(0);
  });
});

describe('devices with the same order', () => {
  test('the new one takes it, and the old one moves up', async () => {
    const vm = (await client.call('vm.create', { name: 'a', memory: 512 })).id;
    const add = async (attributes: object) =>
      (await client.call('vm.device.create', { vm, order: 1500, attributes })).id;
    const [old, young] = [
      await add({ dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' }),
      await add({ dtype: 'DISK', path: '/dev/zvol/tank/v' }),
    ];
    const orders = new Map<number, number>();
    for (const { id, order } of await client.call('vm.device.query', [['vm', '=', vm]])) orders.set(id, order);
    expect([orders.get(young), orders.get(old)]).toEqual([1500, 1501]);
  });
});

describe('an upload', () => {
  test('creates missing folders, and the file has its bytes when 200 is sent', async () => {
    const path = '/mnt/tank/iso/deep/er/b.iso';
    const content = Buffer.alloc(300_000, 'x');
    const { status } = await nas.upload(path, content);
    expect([status, (await client.call('filesystem.stat', path)).size]).toEqual([200, content.length]);
  });
});

describe('a dataset that a machine uses', () => {
  test('is deleted when the machine is off, and stops a running machine without waiting for it', async () => {
    const vm = (await client.call('vm.create', { name: 'a', memory: 512 })).id;
    await client.call('vm.device.create', { vm, attributes: { dtype: 'CDROM', path: '/mnt/tank/iso/a.iso' } });
    expect(await client.call('pool.dataset.delete', 'tank/iso')).toBe(true);
    expect(await client.call('core.get_jobs', [['method', '=', 'vm.stop']])).toEqual([]);
  });
});
