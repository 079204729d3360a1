import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';

import { check, credentials, dump, Process, room, start, text, useScene } from './scene.ts';

useScene();

describe('the check of a ProviderConfig', () => {
  it('finds nothing wrong with what is right, and makes nothing', async () => {
    await start();
    const before = text(dump());
    expect(await check(new Process())).toEqual([]);
    expect(text(dump())).toBe(before);
  });

  it.each([
    [{ pool: 'tonk' }, 'truenas.pool', 'PoolUnknown', /tank/],
    [{ bridge: 'br7' }, 'truenas.bridge', 'BridgeUnknown', /br0/],
    [{ caBundle: undefined }, 'truenas.caBundle', 'TlsUntrusted', /caBundle/],
  ])('T11: %j: %s is named, with what there is', async (change, field, reason, message) => {
    await start();
    expect(await check(new Process(), change)).toEqual([{ field, reason, message: expect.stringMatching(message) }]);
  });

  it('T37: takes an interface of a VLAN as it takes a bridge, and misses one that is not there', async () => {
    await start({ seed: { interfaces: [{ name: 'vlan50', type: 'VLAN', description: 'DMZ' }] } });
    expect(await check(new Process(), { bridge: 'vlan50' })).toMatchObject([{ reason: 'NoBridge', advice: true }]);
    expect(await check(new Process(), { bridge: 'vlan51' })).toMatchObject([{ reason: 'BridgeUnknown' }]);
  });

  it('names the Secret for a wrong, a revoked and a missing key', async () => {
    await start();
    const wrong = { ...credentials(), apiKey: new Secret('1-wrong') };
    const finding = { field: 'truenas.credentialsRef' };
    expect(await check(new Process(), {}, wrong)).toMatchObject([{ ...finding, reason: 'KeyRefused' }]);
    expect(await check(new Process(), {}, { username: new Secret('root') })).toMatchObject([
      { ...finding, reason: 'CredentialsMissing' },
    ]);
    room.room.revokeKey('root');
    expect(await check(new Process())).toMatchObject([{ ...finding, reason: 'KeyExpired' }]);
  });

  it('T62, S31: names a role that is missing before anything fails for it', async () => {
    const roles = ['READONLY_ADMIN', 'VM_WRITE', 'VM_DEVICE_WRITE', 'DATASET_WRITE', 'DATASET_DELETE'];
    await start({ seed: { users: [{ name: 'small', apiKey: 'k'.repeat(64), roles }] } });
    expect(await check(new Process())).toMatchObject([{ field: 'truenas.credentialsRef', reason: 'RoleMissing' }]);
  });

  it('T10, G12, S56: refuses a version without virtual machines by name', async () => {
    await start({ version: '25.04.1' });
    expect(await check(new Process())).toMatchObject([
      { field: 'truenas.url', reason: 'VersionUnsupported', message: expect.stringContaining('25.04.1') },
    ]);
  });

  it('throws what passes by itself, so that it is looked at again soon', async () => {
    await start();
    await expect(check(new Process(), { url: '127.0.0.1:1' })).rejects.toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
  });

  it('T28: sees a prefix that is a zvol, a faulted pool and a host that cannot run machines', async () => {
    await start({ seed: { datasets: [{ name: 'tank/talos', volumeBytes: 2 ** 30 }] } });
    expect(await check(new Process())).toMatchObject([{ field: 'truenas.datasetPrefix', reason: 'PrefixUnusable' }]);
    room.room.nas.pools.get('tank')!.status = 'FAULTED';
    Object.assign(room.room.nas, { hasKvm: false });
    expect(await check(new Process())).toContainEqual(expect.objectContaining({ reason: 'VirtualizationUnsupported' }));
    expect(await check(new Process())).toContainEqual(
      expect.objectContaining({ field: 'truenas.pool', reason: 'PoolUnhealthy' }),
    );
  });
});
