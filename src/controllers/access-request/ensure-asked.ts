import { type Access, type AccessIdentity, InvalidRequest } from './describe.ts';
import type { Site } from './looks.ts';
import { ensureAccess, revokeRights } from './target.ts';

/**
 * Makes what a request asks for, and returns the UID of its account where it has one. A request that cannot be meant loses
 * what it asked for before: it does not ask for it now.
 */
export async function ensureAsked(
  site: Site,
  identity: AccessIdentity,
  describe: () => Access,
  signal: AbortSignal,
): Promise<string | undefined> {
  let access: Access;
  try {
    access = describe();
  } catch (error) {
    if (error instanceof InvalidRequest) await revokeRights(site, identity, signal);
    throw error;
  }
  return await ensureAccess(site, access, signal);
}
