import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { missingRoles, requiredRoles } from '../../../src/platforms/truenas/api/auth/required-roles.ts';
import { connectTrueNas, type TrueNasClient } from '../../../src/platforms/truenas/api/client.ts';
import { TrueNasConfig } from '../../../src/platforms/truenas/config/config.ts';
import {
  checkPlatformConfig,
  nasFixture,
  platformConfig,
  startTrueNasPlatformFixture,
  TrueNasProviderProcess,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

/**
 * Sufficient roles, if uploads did not require FULL_ADMIN. Write includes read, so no read role appears beside its
 * write role.
 */
const lesserRoles = [
  ...['POOL_READ', 'DATASET_WRITE', 'DATASET_DELETE', 'FILESYSTEM_ATTRS_READ'],
  ...['NETWORK_INTERFACE_READ', 'SYSTEM_GENERAL_READ', 'VM_DEVICE_WRITE'],
];
const calls = Object.keys(requiredRoles);
const username = 'talos-provider';

const credentials = () => ({
  username: new SecretString(username),
  apiKey: new SecretString(nasFixture.simulator.nas.keys.find(({ user }) => user === username)?.key ?? ''),
});

/** Starts a system that has a user with these roles. */
async function startFor(roles: readonly string[], version?: string): Promise<TrueNasClient> {
  const users = [{ name: username, apiKey: 'k'.repeat(64), roles: [...roles] }];
  await startTrueNasPlatformFixture({ ...(version ? { version } : {}), seed: { users } });
  const context = {
    ...new TrueNasProviderProcess().context('none', {}),
    config: TrueNasConfig.parse(platformConfig()),
    credentials: credentials(),
  };
  return connectTrueNas(context);
}

/** Our calls that the user may not make. They have no parameters, so the permitted ones fail for that. */
async function rejectedCalls(nas: TrueNasClient): Promise<string[]> {
  const refused: string[] = [];
  for (const call of calls) {
    const error = await nas
      .read(call, [], z.unknown(), { signal: deadlineSignal(10) })
      .catch((thrown: unknown) => thrown);
    if (error instanceof ProviderError && error.code === 'TRUENAS_ROLE_MISSING') refused.push(call);
  }
  return refused;
}

const callsNamedIn = (message: string): string[] =>
  [...message.matchAll(/[a-z]+(?:\.[a-z_]+)+/g)].map(([call]) => call);

describe('the user of an API key', () => {
  it.each(['25.04.2', '25.10', '26'])(
    'T62, S31: may make all calls with FULL_ADMIN, and all but uploads without it, on %s',
    async (version) => {
      const nas = await startFor(lesserRoles, version);
      expect(await rejectedCalls(nas)).toEqual(['filesystem.put', 'filesystem.get']);
      const { roles = [] } = await nas.session(deadlineSignal(10));
      expect(missingRoles(roles)).toEqual([{ role: 'FULL_ADMIN', calls: ['filesystem.put', 'filesystem.get'] }]);
      expect(missingRoles(['FULL_ADMIN'])).toEqual([]);
    },
  );

  it.each(lesserRoles)(
    'T62: without %s gets a list of exactly the calls that would be rejected for it',
    async (role) => {
      const nas = await startFor(lesserRoles.filter((one) => one !== role));
      const refused = await rejectedCalls(nas);
      expect(refused.length).toBeGreaterThan(1);
      const [finding, ...others] = await checkPlatformConfig(new TrueNasProviderProcess(), {}, credentials());
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ field: 'truenas.credentialsRef', reason: 'RoleMissing' });
      expect(new Set(callsNamedIn(finding?.message ?? ''))).toEqual(new Set(refused));
    },
  );

  it.each([
    ['25.10', 'PRIVILEGE_WRITE'],
    ['26', 'SYSTEM_PRODUCT_WRITE'],
  ])('S58: on %s with %s, which includes itself, is told which one to remove', async (version, role) => {
    await startFor([...lesserRoles, role], version);
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), {}, credentials())).toEqual([
      {
        field: 'truenas.credentialsRef',
        reason: 'KeyRefused',
        message: expect.stringMatching(`remove .*${role}.* from`),
      },
    ]);
  });

  it('without any role is rejected, as if the key were wrong', async () => {
    await startFor([]);
    expect(await checkPlatformConfig(new TrueNasProviderProcess(), {}, credentials())).toMatchObject([
      { reason: 'KeyRefused' },
    ]);
  });
});
