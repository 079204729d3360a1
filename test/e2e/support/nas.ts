import { z } from 'zod';
import { OpenConnections } from '../../../src/engine/connections.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noLog } from '../../../src/lib/log.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { connect } from '../../../src/platforms/truenas/client.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config.ts';
import { type Identity, identityOf } from '../../../src/platforms/truenas/identity.ts';
import type { Stage } from './stage.ts';

/** Calls a method of the TrueNAS system as somebody else who works there. */
export async function callNas(stage: Stage, method: string, params: readonly unknown[]): Promise<unknown> {
  const { username, apiKey } = stage.things.goodCredentials();
  const connections = new OpenConnections();
  const signal = AbortSignal.timeout(10_000);
  try {
    const nas = connect({
      config: TrueNasConfig.parse(stage.things.configSpec().truenas),
      credentials: { username: new Secret(username), apiKey: new Secret(apiKey) },
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

/** What the provider `talos` will call the things of a Machine. */
export async function nasNames(stage: Stage, machine: string): Promise<Identity> {
  const owner = { installation: await stage.installation(), provider: 'talos', machine };
  return identityOf({ owner, config: TrueNasConfig.parse(stage.things.configSpec().truenas), facts: {} });
}
