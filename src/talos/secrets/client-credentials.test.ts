import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { createAdminCredentials, createTalosCredentials, isCertificateFresh } from './client-credentials.ts';

const hour = 3600 * 1000;

it.each([
  ['nodes', createTalosCredentials],
  ['API servers', createAdminCredentials],
])(
  'keeps one certificate for %s for half a day, so that connections last, and renews it in time',
  async (_, create) => {
    const clock = new ManualClock();
    const credentials = create(await exampleSecretsBundle(), clock);
    const [first, same] = await Promise.all([credentials.client(), credentials.client()]);
    expect(same).toBe(first);
    expect(Date.parse(new X509Certificate(first.certificate).validTo)).toBe(clock.now().getTime() + 24 * hour);
    await clock.advance(11 * hour);
    expect(await credentials.client()).toBe(first);
    await clock.advance(2 * hour);
    const second = await credentials.client();
    expect(second.certificate).not.toBe(first.certificate);
  },
);

it('issues a new certificate when the clock jumps back, because the old one would begin in the future', async () => {
  const clock = new ManualClock();
  const credentials = createTalosCredentials(await exampleSecretsBundle(), clock);
  const first = await credentials.client();
  clock.jump(-40 * 24 * hour);
  const second = await credentials.client();
  expect(Date.parse(new X509Certificate(second.certificate).validFrom)).toBeLessThan(clock.now().getTime());
  expect(second.certificate).not.toBe(first.certificate);
});

it('treats a certificate as stale that is not yet valid or expired on a peer with a correct clock', () => {
  const certificate = 1_000_000 * hour;
  const ages = [-40 * 24, -13, -11, 0, 11, 13, 40 * 24];
  expect(ages.map((age) => isCertificateFresh(certificate, certificate + age * hour))).toEqual([
    false,
    false,
    true,
    true,
    true,
    false,
    false,
  ]);
});
