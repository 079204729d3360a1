import type { TargetConnection } from './access-object-cache.ts';
import { type AccessIdentity, type DesiredAccess, InvalidAccessRequestError } from './desired-access.ts';
import { ensureAccess, revokeRoles } from './ensure-access.ts';

/**
 * Makes what a request asks for, and returns the UID of its account where it has one. A request that cannot be meant loses
 * what it asked for before: it does not ask for it now.
 */
export async function ensureRequestedAccess(
  site: TargetConnection,
  identity: AccessIdentity,
  describe: () => DesiredAccess,
  signal: AbortSignal,
): Promise<string | undefined> {
  let access: DesiredAccess;
  try {
    access = describe();
  } catch (error) {
    if (error instanceof InvalidAccessRequestError) await revokeRoles(site, identity, signal);
    throw error;
  }
  return await ensureAccess(site, access, signal);
}
