import { describe, expect, it } from 'vitest';
import { SecretString } from '../../../src/lib/secret-string.ts';

import {
  checkPlatformConfig,
  dumpNas,
  nasFixture,
  platformCredentials,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

describe('the check of a ProviderConfig', () => {
  it('accepts a valid one, and creates nothing', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpNas());
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toEqual([]);
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it.each([
    [{ pool: 'tonk' }, 'truenas.pool', 'PoolUnknown', /tank/],
    [{ bridge: 'br7' }, 'truenas.bridge', 'BridgeUnknown', /br0/],
    [{ caBundle: undefined }, 'truenas.caBundle', 'TlsUntrusted', /caBundle/],
  ])('T11: %j: %s is named, with the alternatives', async (change, field, reason, message) => {
    await startTrueNasPlatformFixture();
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), change)).toEqual([
      { field, reason, message: expect.stringMatching(message) },
    ]);
  });

  it('T37: accepts an interface of a VLAN like a bridge, and reports a missing one', async () => {
    await startTrueNasPlatformFixture({ seed: { interfaces: [{ name: 'vlan50', type: 'VLAN', description: 'DMZ' }] } });
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), { bridge: 'vlan50' })).toMatchObject([
      { reason: 'NoBridge', advice: true },
    ]);
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), { bridge: 'vlan51' })).toMatchObject([
      { reason: 'BridgeUnknown' },
    ]);
  });

  it('names the Secret for a wrong, a revoked and a missing key', async () => {
    await startTrueNasPlatformFixture();
    const wrong = { ...platformCredentials(), apiKey: new SecretString('1-wrong') };
    const finding = { field: 'truenas.credentialsRef' };
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), {}, wrong)).toMatchObject([
      { ...finding, reason: 'KeyRefused' },
    ]);
    expect(
      await checkPlatformConfig(new TrueNasProviderProcess(), {}, { username: new SecretString('root') }),
    ).toMatchObject([{ ...finding, reason: 'CredentialsMissing' }]);
    nasFixture.simulator.revokeKey('root');
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toMatchObject([
      { ...finding, reason: 'KeyExpired' },
    ]);
  });

  it('T62, S31: names a role that is missing before any step fails for it', async () => {
    const roles = ['READONLY_ADMIN', 'VM_WRITE', 'VM_DEVICE_WRITE', 'DATASET_WRITE', 'DATASET_DELETE'];
    await startTrueNasPlatformFixture({ seed: { users: [{ name: 'small', apiKey: 'k'.repeat(64), roles }] } });
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toMatchObject([
      { field: 'truenas.credentialsRef', reason: 'RoleMissing' },
    ]);
  });

  it('T10, G12, S56: rejects a version without virtual machines by name', async () => {
    await startTrueNasPlatformFixture({ version: '25.04.1' });
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toMatchObject([
      { field: 'truenas.url', reason: 'VersionUnsupported', message: expect.stringContaining('25.04.1') },
    ]);
  });

  it('throws temporary errors, so that the check is retried soon', async () => {
    await startTrueNasPlatformFixture();
    await expect(checkPlatformConfig(new TrueNasProviderProcess(), { url: '127.0.0.1:1' })).rejects.toMatchObject({
      code: 'TRUENAS_UNREACHABLE',
    });
  });

  it('advises to look at a pool with a failed disk, which still works', async () => {
    await startTrueNasPlatformFixture();
    nasFixture.simulator.nas.pools.get('tank')!.status = 'DEGRADED';
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toEqual([
      {
        ...{ field: 'truenas.pool', reason: 'PoolDegraded', advice: true },
        message: 'TrueNAS reports a problem of the pool tank, which still works (DEGRADED): look at its disks.',
      },
    ]);
  });

  it('T28: detects a prefix that is a zvol, a faulted pool and a host that cannot run machines', async () => {
    await startTrueNasPlatformFixture({ seed: { datasets: [{ name: 'tank/talos', volumeBytes: 2 ** 30 }] } });
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toMatchObject([
      { field: 'truenas.datasetPrefix', reason: 'PrefixUnusable' },
    ]);
    nasFixture.simulator.nas.pools.get('tank')!.status = 'FAULTED';
    Object.assign(nasFixture.simulator.nas, { hasKvm: false });
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toContainEqual(
      expect.objectContaining({ reason: 'VirtualizationUnsupported' }),
    );
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toContainEqual(
      expect.objectContaining({ field: 'truenas.pool', reason: 'PoolUnhealthy' }),
    );
  });
});
