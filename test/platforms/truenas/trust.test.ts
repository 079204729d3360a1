import { describe, expect, it } from 'vitest';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { fetchFingerprint } from '../../../src/lib/net/certificate-pin.ts';
import {
  checkPlatformConfig,
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

describe('a system with a certificate of an unknown authority', () => {
  const pinned = (tlsFingerprint: string) => ({ caBundle: undefined, tlsFingerprint });
  const shown = async () => await fetchFingerprint(new URL(nasFixture.simulator.line.url).host, deadlineSignal(10));

  it('T3: is used for reads and writes when its fingerprint is configured', async () => {
    await startTrueNasPlatformFixture();
    const change = pinned((await shown()).replaceAll(':', '').toLowerCase());
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), change)).toEqual([]);
    expect(
      await new TrueNasProviderProcess().walk('provision', 'shop-cp-0', { progress: undefined }, change),
    ).toMatchObject({
      kind: 'finished',
    });
    expect(stateSummary().files).toHaveLength(2);
  });

  it('T3: is rejected with another fingerprint, and both are reported', async () => {
    await startTrueNasPlatformFixture();
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), pinned('ab'.repeat(32)))).toEqual([
      {
        field: 'truenas.tlsFingerprint',
        reason: 'FingerprintDiffers',
        message: expect.stringContaining(`The fingerprint is ${await shown()}, not AB:AB:`),
      },
    ]);
  });
});
