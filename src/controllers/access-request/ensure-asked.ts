import type { KubeClient } from '../../kube/client.ts';
import { type Access, type AccessIdentity, InvalidRequest } from './describe.ts';
import { ensureAccess, revokeRights } from './target.ts';

/** Makes what a request asks for. One that cannot be meant loses what it asked for before: it does not ask for it now. */
export async function ensureAsked(
  client: KubeClient,
  identity: AccessIdentity,
  describe: () => Access,
  signal: AbortSignal,
): Promise<void> {
  let access: Access;
  try {
    access = describe();
  } catch (error) {
    if (error instanceof InvalidRequest) await revokeRights(client, identity.id, signal);
    throw error;
  }
  await ensureAccess(client, access, signal);
}
