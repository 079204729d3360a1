import { z } from 'zod';
import { ProcessConnectionCache } from '../../../../src/engine/connection-cache.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog } from '../../../../src/lib/log.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { connectTrueNas } from '../../../../src/platforms/truenas/api/client.ts';
import { TrueNasConfig } from '../../../../src/platforms/truenas/config/config.ts';
import { type VmIdentity, vmIdentityOf } from '../../../../src/platforms/truenas/resources/identity.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** Calls a method of the TrueNAS system as another user of the system. */
export async function callNas(testbed: Testbed, method: string, params: readonly unknown[]): Promise<unknown> {
  const { username, apiKey } = testbed.objects.goodCredentials();
  const connections = new ProcessConnectionCache();
  const signal = AbortSignal.timeout(10_000);
  try {
    const nas = connectTrueNas({
      config: TrueNasConfig.parse(testbed.objects.configSpec().truenas),
      credentials: { username: new SecretString(username), apiKey: new SecretString(apiKey) },
      connections,
      log: noLog,
      clock: systemClock,
      signal,
    });
    return await nas.change(method, params, z.unknown(), { signal });
  } finally {
    await connections.close();
  }
}

/** The names that the provider `talos` gives to the NAS objects of a Machine. */
export async function identityOnNas(testbed: Testbed, machine: string): Promise<VmIdentity> {
  const owner = { installation: await testbed.installation(), provider: 'talos', machine };
  return vmIdentityOf({ owner, config: TrueNasConfig.parse(testbed.objects.configSpec().truenas), facts: {} });
}
