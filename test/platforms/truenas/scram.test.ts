import { describe, expect, it } from 'vitest';
import { SecretString } from '../../../src/lib/secret-string.ts';
import {
  checkPlatformConfig,
  type MachineRecord,
  nasFixture,
  platformCredentials,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const scram = { login: 'Scram' };
const machine = 'shop-cp-0';
const called = (wanted: string) => nasFixture.switchboard.calls.filter(({ name }) => name === wanted).length;

describe('with SCRAM', () => {
  it('T2: a machine is created and deleted on 26, and each upload has a one-time token in place of the key', async () => {
    await startTrueNasPlatformFixture({ version: '26' });
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), scram)).toEqual([]);
    const empty = stateSummary();
    const durable: MachineRecord = { progress: undefined };
    const process = new TrueNasProviderProcess();
    expect(await process.walk('provision', machine, durable, scram)).toMatchObject({ kind: 'finished' });
    expect(vmOf(machine)?.guest).toBeDefined();
    // The image and the seed.
    expect([called('POST /_upload'), called('auth.generate_token')]).toEqual([2, 2]);
    expect(
      [...nasFixture.simulator.nas.tokens.values()].filter(({ attributes }) => Object.keys(attributes).length === 0),
    ).toEqual([]);
    await process.walk('release', machine, { progress: { ...durable.progress!, step: '' } }, scram);
    expect(stateSummary().vms).toEqual(empty.vms);
  });

  it.each(['25.04.2', '25.10'])('T2: %s is rejected, with the field and the remedy', async (version) => {
    await startTrueNasPlatformFixture({ version });
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), scram)).toMatchObject([
      { field: 'truenas.login', reason: 'ScramUnsupported', message: expect.stringContaining('Plain') },
    ]);
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), { login: 'Plain' })).toEqual([]);
  });

  it('T2: a wrong key is reported as one', async () => {
    await startTrueNasPlatformFixture({ version: '26' });
    const wrong = { ...platformCredentials(), apiKey: new SecretString(`1-${'x'.repeat(64)}`) };
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), scram, wrong)).toMatchObject([
      { field: 'truenas.credentialsRef', reason: 'KeyRefused' },
    ]);
  });
});
