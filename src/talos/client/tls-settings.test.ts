import { expect, it } from 'vitest';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { systemClock } from '../../lib/clock.ts';
import { createTalosCredentials } from '../secrets/client-credentials.ts';
import { tlsSettingsOf } from './tls-settings.ts';

const credentials = async () => createTalosCredentials(await exampleSecretsBundle(), systemClock);

it('reads a certificate once for all connections', async () => {
  const { ca, client } = await credentials();
  expect(tlsSettingsOf(ca, await client())).toBe(tlsSettingsOf(ca, await client()));
});

it('reads another certificate of the same authorities for itself', async () => {
  const [one, renewed] = [await credentials(), await credentials()];
  expect(tlsSettingsOf(one.ca, await one.client())).not.toBe(tlsSettingsOf(one.ca, await renewed.client()));
});
