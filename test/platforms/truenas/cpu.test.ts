import { describe, expect, it } from 'vitest';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import {
  checkPlatformConfig,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const sized = (change: object) => ({ sizes: [{ ...platformConfig().sizes[0], ...change }] });

describe('processors of a machine on TrueNAS', () => {
  it('T17, S59: have the sockets, cores, threads and CPU model of its size', async () => {
    await startTrueNasPlatformFixture();
    const change = sized({ cpus: 8, sockets: 2, threads: 2, cpuModel: 'Haswell' });
    const process = new TrueNasProviderProcess();
    expect(await checkPlatformConfig(process, change)).toEqual([]);
    expect(await process.walk('provision', 'shop-cp-0', { progress: undefined }, change)).toMatchObject({
      kind: 'finished',
    });
    expect(vmOf('shop-cp-0')?.row).toMatchObject({
      ...{ vcpus: 2, cores: 2, threads: 2, cpu_mode: 'CUSTOM', cpu_model: 'Haswell' },
    });
    expect(nasFixture.runner.started).toMatchObject([{ vcpus: 8, cpuModel: 'Haswell' }]);
    const context = {
      ...process.context('shop-cp-0', {}, change),
      host: undefined,
      hostedServers: () => new Set<string>(),
    };
    const [machine] = await truenas.preview.machine(context);
    expect(machine?.subject).toContain('8 CPUs (2 sockets, 2 threads for each core, Haswell), 4096 MiB');
  });

  it('T17: of a model that the system does not offer are reported, with the available ones', async () => {
    await startTrueNasPlatformFixture();
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), sized({ cpuModel: 'EPYC-Genoa' }))).toEqual([
      {
        field: 'truenas.sizes[0].cpuModel',
        reason: 'CpuModelUnknown',
        message: expect.stringMatching(/does not offer the CPU model EPYC-Genoa\. It offers: EPYC, EPYC-Rome, Haswell/),
      },
    ]);
  });

  it('G16: of another architecture are rejected by its name', async () => {
    await startTrueNasPlatformFixture({ seed: { guests: { aarch64: ['virt-7.2'] } } });
    expect(await checkPlatformConfig(new TrueNasProviderProcess())).toEqual([
      {
        field: 'truenas.url',
        reason: 'ArchitectureUnsupported',
        message: expect.stringMatching(/supports virtual machines of aarch64 and not of x86_64/),
      },
    ]);
  });
});
