import type { TargetConnection } from './access-object-cache.ts';
import { type AccessIdentity, type DesiredAccess, InvalidAccessRequestError } from './desired-access.ts';
import { ensureAccess, revokeRoles } from './ensure-access.ts';

/**
 * Creates the objects of a request and returns the UID of its account, if it has one. An invalid request loses the
 * access of its earlier spec, because its current spec does not ask for it.
 */
export async function ensureRequestedAccess(
  connection: TargetConnection,
  identity: AccessIdentity,
  describe: () => DesiredAccess,
  signal: AbortSignal,
): Promise<string | undefined> {
  let access: DesiredAccess;
  try {
    access = describe();
  } catch (error) {
    if (error instanceof InvalidAccessRequestError) await revokeRoles(connection, identity, signal);
    throw error;
  }
  return await ensureAccess(connection, access, signal);
}
