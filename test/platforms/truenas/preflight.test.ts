import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import {
  dumpNas,
  nasFixture,
  platformConfig,
  platformCredentials,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const gibibyte = 2 ** 30;
const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }];

/** The diagnostics for a cluster of so many machines. */
const preflightFor = async (machines: number, change: object = {}, talos: object = {}) => {
  const context = new TrueNasProviderProcess().context('none', {});
  return await truenas.preflight({
    ...context,
    config: { ...platformConfig(), sizes, ...change },
    failureDomain: undefined,
    credentials: platformCredentials(),
    machines: Array.from({ length: machines }, (_, i) => ({
      name: `shop-cp-${i}`,
      role: 'controlplane',
      size: 'small',
    })),
    talos: { ...context.node.talos, ...talos },
    isPoolAddress: (address) => address.startsWith('192.168.10.'),
  });
};

/** The number of disks that the system accepts, one after the other. */
async function acceptedDiskCount(): Promise<number> {
  const client = await nasFixture.login();
  await client.call('pool.dataset.create', { name: 'tank/talos' });
  for (let made = 0; ; made += 1) {
    const disk = { name: `tank/talos/disk-${made}`, type: 'VOLUME', volsize: 40 * gibibyte };
    const refused = await client.call('pool.dataset.create', disk).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused) return made;
  }
}

describe('the diagnostics for one more cluster', () => {
  it('T11: are empty where all suffices, and nothing is created', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpNas());
    expect(await preflightFor(3)).toEqual([]);
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it.each([49, 51, 92, 132, 136, 200])('T21: allow as many disks as a pool of %i GiB then accepts', async (size) => {
    await startTrueNasPlatformFixture({ seed: { pools: [{ name: 'tank', sizeBytes: size * gibibyte }] } });
    const counts = [];
    for (let machines = 1; machines <= 5; machines += 1) counts.push((await preflightFor(machines)).length);
    const fit = await acceptedDiskCount();
    expect(counts).toEqual([1, 2, 3, 4, 5].map((machines) => (machines > fit ? 1 : 0)));
  });

  it('T21: name the available and the required space', async () => {
    await startTrueNasPlatformFixture({ seed: { pools: [{ name: 'tank', sizeBytes: 100 * gibibyte }] } });
    expect(await preflightFor(3)).toEqual([
      {
        field: 'truenas.pool',
        reason: 'InsufficientDiskSpace',
        message: expect.stringMatching(/^tank has space for the disks of 2 of 3 machines .* all disks take 120\.0 GiB/),
      },
    ]);
  });

  it('T19, S57: name memory, reported in bytes and requested in MiB, that the system would not guarantee', async () => {
    await startTrueNasPlatformFixture({ seed: { memoryMiB: 16384 } });
    const client = await nasFixture.login();
    const available = z.number().parse(await client.call('vm.get_available_memory'));
    const fit = Math.floor(available / (4 * gibibyte));
    expect(fit).toBeGreaterThan(0);
    expect(await preflightFor(fit)).toEqual([]);
    expect(await preflightFor(fit + 1)).toMatchObject([
      {
        field: 'truenas.sizes',
        reason: 'InsufficientMemory',
        message: expect.stringContaining(`of ${fit} of ${fit + 1}`),
      },
    ]);
  });

  it('T11: name an address of the pool that is one of the system', async () => {
    await startTrueNasPlatformFixture({
      seed: { interfaces: [{ name: 'vlan50', type: 'VLAN', address: '192.168.10.40/24' }] },
    });
    expect(await preflightFor(1)).toEqual([
      {
        field: 'network.addressPool',
        reason: 'AddressTaken',
        message: expect.stringMatching(/^192\.168\.10\.40 is an address of .* at its interface vlan50\./),
      },
    ]);
  });

  it.each([
    [{ version: '1.13.99' }, /version 1\.13\.99/],
    [{ schematic: { extensions: ['siderolabs/no-such-thing'], kernelArguments: [] } }, /siderolabs\/no-such-thing/],
  ])('T11: name an image that the factory does not have, in its words: %j', async (talos, message) => {
    await startTrueNasPlatformFixture();
    expect(await preflightFor(1, {}, talos)).toEqual([
      { field: 'talos', reason: 'ImageMissing', message: expect.stringMatching(message) },
    ]);
  });

  it('T62: omit objects that the user may not read', async () => {
    await startTrueNasPlatformFixture({
      seed: { users: [{ name: 'small', apiKey: 'k'.repeat(64), roles: ['VM_READ'] }] },
    });
    expect(await preflightFor(1)).toEqual([]);
  });
});
