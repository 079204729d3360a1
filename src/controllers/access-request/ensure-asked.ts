import { type Access, type AccessIdentity, InvalidRequest } from './describe.ts';
import type { Site } from './looks.ts';
import { ensureAccess, revokeRights } from './target.ts';

/** Makes what a request asks for. One that cannot be meant loses what it asked for before: it does not ask for it now. */
export async function ensureAsked(
  site: Site,
  identity: AccessIdentity,
  describe: () => Access,
  signal: AbortSignal,
): Promise<void> {
  let access: Access;
  try {
    access = describe();
  } catch (error) {
    if (error instanceof InvalidRequest) await revokeRights(site, identity.id, signal);
    throw error;
  }
  await ensureAccess(site, access, signal);
}
