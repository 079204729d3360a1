import { z } from 'zod';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { missingRoles } from '../api/auth/required-roles.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { displayPasswordOf } from '../config/display.ts';
import type { TrueNasErrorCode } from '../error-codes.ts';
import { hasCode } from '../errors.ts';
import { checkCards } from './check-cards.ts';
import { checkCpu } from './check-cpu.ts';
import { checkPools, checkPrefixes } from './check-pools.ts';

const fieldByCode: Readonly<Record<string, string>> = {
  CREDENTIALS_MISSING: 'truenas.credentialsRef',
  TRUENAS_KEY_REFUSED: 'truenas.credentialsRef',
  TRUENAS_KEY_EXPIRED: 'truenas.credentialsRef',
  TRUENAS_OTP_REQUIRED: 'truenas.credentialsRef',
  TRUENAS_ROLE_MISSING: 'truenas.credentialsRef',
  TRUENAS_SCRAM_UNSUPPORTED: 'truenas.login',
  TRUENAS_SERVER_UNPROVEN: 'truenas.url',
  TRUENAS_TLS_UNTRUSTED: 'truenas.caBundle',
  TRUENAS_FINGERPRINT_DIFFERS: 'truenas.tlsFingerprint',
  TRUENAS_LOGIN_DENIED: 'truenas.url',
  TRUENAS_VERSION_UNSUPPORTED: 'truenas.url',
} satisfies Partial<Record<TrueNasErrorCode, string>>;

/**
 * Reports what is missing or wrong for this configuration, without creating anything. Temporary errors, such as a
 * system that does not answer, are thrown.
 */
export async function check(context: PlatformContext<TrueNasConfig>): Promise<readonly Diagnostic[]> {
  try {
    const nas = connectTrueNas(context);
    const options: TrueNasCallOptions = { signal: context.signal };
    const roles = await checkRoles(nas, options);
    // A check that fails for want of a role adds no further diagnostic.
    const allowed = async (look: Promise<Diagnostic[]>): Promise<Diagnostic[]> =>
      await look.catch((error: unknown) => {
        if (roles.length > 0 && hasCode(error, 'TRUENAS_ROLE_MISSING')) return [];
        throw error;
      });
    const version = await allowed(checkVersion(nas, options));
    if (version.length > 0) return version;
    const found = await Promise.all(
      [
        checkPools(nas, context, options),
        checkCards(nas, context, options),
        checkCpu(nas, context, options),
        checkPrefixes(nas, context),
      ].map(allowed),
    );
    return [...roles, ...checkDisplay(context), ...found.flat()];
  } catch (error) {
    const field = error instanceof ProviderError ? fieldByCode[error.code] : undefined;
    if (!(error instanceof ProviderError) || field === undefined) throw error;
    return [{ field, reason: reasonOf(error.code), message: error.message }];
  }
}

/** E.g. `TRUENAS_KEY_REFUSED` → `KeyRefused`. */
const reasonOf = (code: string): string =>
  code
    .replace(/^TRUENAS_/, '')
    .toLowerCase()
    .replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Virtual machines (`vm.*`) are missing from 25.04.0 and 25.04.1, and exist before and after. */
async function checkVersion(nas: TrueNasClient, options: TrueNasCallOptions): Promise<Diagnostic[]> {
  const version = await nas.read('system.version_short', [], z.string(), options);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const present = await nas.read('vm.query', [[], { count: true }], z.number(), options).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'TRUENAS_VERSION_UNSUPPORTED')) return false;
      throw error;
    },
  );
  if (present && (major > 25 || (major === 25 && minor >= 4))) return [];
  const message = `TrueNAS ${version} is not supported. Update it to 25.04.2 or newer.`;
  return [{ field: 'truenas.url', reason: 'VersionUnsupported', message }];
}

async function checkRoles(nas: TrueNasClient, options: TrueNasCallOptions): Promise<Diagnostic[]> {
  const { roles } = await nas.session(options.signal);
  const missing = roles === undefined ? [] : missingRoles(roles);
  if (missing.length === 0) return [];
  const words = missing.map(({ role, calls }) => `${role} (${calls.join(', ')})`).join('; ');
  const message = `The user of the API key lacks roles: ${words}. Assign FULL_ADMIN, which includes them and which TrueNAS requires for uploads, or use another user.`;
  return [{ field: 'truenas.credentialsRef', reason: 'RoleMissing', message }];
}

/** A display is never created without a password. */
function checkDisplay({ config, credentials }: PlatformContext<TrueNasConfig>): Diagnostic[] {
  if (config.sizes.every(({ display }) => display !== true) || displayPasswordOf(credentials) !== '') return [];
  const message = `Secret ${config.credentialsRef.name} needs the key displayPassword: a size has a display.`;
  return [{ field: 'truenas.credentialsRef', reason: 'CredentialsMissing', message }];
}
