import { describe, expect, it } from 'vitest';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { markJoined, testedReleases } from './baseline-run.ts';
import { MemberFixture } from './member-fixture.ts';
import {
  checkPlatformConfig,
  type MachineRecord,
  nasFixture,
  platformConfig,
  platformCredentials,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const sized = (change: object) => ({ sizes: [{ ...platformConfig().sizes[0], ...change }] });
const password = 'look-but-do-not-touch';
const credentialsWithDisplay = () => ({ ...platformCredentials(), displayPassword: new SecretString(`${password}\n`) });

/** With the password of displays in its Secret. */
class DisplayProcess extends TrueNasProviderProcess {
  override context(...all: Parameters<TrueNasProviderProcess['context']>) {
    return { ...super.context(...all), credentials: credentialsWithDisplay() };
  }
}
const displays = () =>
  [...nasFixture.simulator.nas.devices.values()].filter(({ attributes }) => attributes['dtype'] === 'DISPLAY');

describe('an optional device of a machine on TrueNAS', () => {
  it.each(testedReleases)(
    'T61: is a display in the web interface, with a password from the Secret, on TrueNAS %s',
    async (version) => {
      await startTrueNasPlatformFixture({ version });
      const change = sized({ display: true });
      const durable: MachineRecord = { progress: undefined };
      const process = new DisplayProcess();
      expect(await checkPlatformConfig(process, change, credentialsWithDisplay())).toEqual([]);
      expect(await process.walk('provision', 'shop-cp-0', durable, change)).toMatchObject({ kind: 'finished' });
      expect(displays()).toMatchObject([{ attributes: { type: 'SPICE', web: true, bind: '127.0.0.1', password } }]);
      expect(toJsonText(durable)).not.toContain(password);
      const { drift } = await truenas.observe(process.context('shop-cp-0', durable.progress!.facts, change));
      expect(drift).toEqual([]);
      expect(await process.walk('release', 'shop-cp-0', durable, change)).toMatchObject({ kind: 'finished' });
      expect(displays()).toEqual([]);
    },
  );

  it('T61: is a display with a port of its own, also for machines created at the same time', async () => {
    await startTrueNasPlatformFixture();
    const process = new DisplayProcess();
    const names = ['a-0', 'a-1', 'a-2', 'a-3'];
    await Promise.all(
      names.map((name) => process.walk('provision', name, { progress: undefined }, sized({ display: true }))),
    );
    const ports = displays().flatMap(({ attributes }) => [attributes['port'], attributes['web_port']]);
    expect(ports).toHaveLength(8);
    expect(new Set(ports).size).toBe(8);
  });

  it('T61: is no display without a password, which is reported first; the creation continues with the password', async () => {
    await startTrueNasPlatformFixture();
    const change = sized({ display: true });
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), change)).toMatchObject([
      { field: 'truenas.credentialsRef', message: expect.stringContaining('displayPassword') },
    ]);
    const durable: MachineRecord = { progress: undefined };
    expect(await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', durable, change)).toMatchObject({
      ...{ kind: 'failed', reason: 'CREDENTIALS_MISSING', message: expect.stringContaining('displayPassword') },
    });
    expect(await new DisplayProcess().walk('provision', 'shop-cp-0', durable, change)).toMatchObject({
      kind: 'finished',
    });
    expect(displays()).toHaveLength(1);
  });

  it('T61: is reported when it is gone, and is created again after approval or when the machine is off', async () => {
    await startTrueNasPlatformFixture();
    const change = sized({ display: true });
    const durable: MachineRecord = { progress: undefined };
    await new DisplayProcess().walk('provision', 'shop-cp-0', durable, change);
    markJoined(durable);
    const kept = new MemberFixture(durable, {}, change);
    kept.process = new TrueNasProviderProcess();
    const lose = async () => {
      await nasFixture.simulator.loseDevice(
        String(vmOf('shop-cp-0')?.row['name']),
        (one) => one['dtype'] === 'DISPLAY',
      );
      kept.process = new DisplayProcess();
    };
    await lose();
    kept.process = new TrueNasProviderProcess();
    const poor = await kept.rest();
    expect(poor).toMatchObject({ reasons: ['DisplayMissing'], words: expect.stringContaining('displayPassword') });
    kept.process = new DisplayProcess();
    expect((await kept.rest()).words).toContain('approve: DisplayMissing on the Machine, it is shut down');
    kept.wish({ approve: 'DisplayMissing' });
    expect(await kept.rest()).toMatchObject({ reasons: [] });
    expect(displays()).toMatchObject([{ attributes: { password } }]);
    await lose();
    await nasFixture.simulator.powerOff(String(vmOf('shop-cp-0')?.row['name']));
    expect(await kept.rest()).toMatchObject({ reasons: [] });
    expect(displays()).toHaveLength(1);
  });

  it('T61, T43: does not block the start of a machine that is off when there is no password any more', async () => {
    await startTrueNasPlatformFixture();
    const change = sized({ display: true });
    const durable: MachineRecord = { progress: undefined };
    await new DisplayProcess().walk('provision', 'shop-cp-0', durable, change);
    markJoined(durable);
    const kept = new MemberFixture(durable, {}, change);
    await nasFixture.simulator.powerOff(String(vmOf('shop-cp-0')?.row['name']));
    expect(await kept.rest()).toMatchObject({ reasons: [], verdict: { kind: 'finished' } });
  });

  it.each(testedReleases)('T60: is a TPM, on TrueNAS %s', async (version) => {
    await startTrueNasPlatformFixture({ version });
    const process = new TrueNasProviderProcess();
    await process.walk('provision', 'shop-cp-0', { progress: undefined }, sized({ tpm: true }));
    await process.walk('provision', 'shop-cp-1', { progress: undefined });
    const rows = ['shop-cp-0', 'shop-cp-1'].map((name) => vmOf(name)?.row['trusted_platform_module']);
    expect(rows).toEqual([true, false]);
    expect(vmOf('shop-cp-0')?.row['enable_secure_boot']).toBe(false);
  });
});
