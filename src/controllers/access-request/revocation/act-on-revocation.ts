import type { ReconcileContext } from '../../../kube/controller/controller.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Services } from '../../shared/services.ts';
import { deleteAccessSecret } from '../access-secret.ts';
import type { RevocationAction } from '../decision.ts';
import { explainUnreachable } from '../explain-failure.ts';
import { openTargetConnection } from '../target-cluster/access-object-cache.ts';
import { revokeAccess } from '../target-cluster/ensure-access.ts';
import type { AccessRequestView } from '../view.ts';
import { isClusterLost } from './lost-cluster.ts';
import { readRevocationNeed } from './revocation-need.ts';

/** Executes the action and returns the view after it. */
export async function actOnRevocation(
  services: Services,
  view: AccessRequestView,
  action: RevocationAction,
  { signal, log }: Pick<ReconcileContext, 'signal' | 'log'>,
): Promise<AccessRequestView> {
  const { request } = view;
  switch (action.kind) {
    case 'revoke-secret':
      await deleteAccessSecret(services.kube, request, signal, action.onlyOfProvider);
      return { ...view, isSecretRemoved: true };
    case 'read-revocation-need':
      return { ...view, revocationNeed: await readRevocationNeed(services, request, signal) };
    case 'revoke-objects':
      return { ...view, ...(await revokeObjects(services, view, signal)) };
    case 'check-cluster-loss': {
      const { clusterRef } = request.spec;
      const isLost = clusterRef !== undefined && (await isClusterLost(services, clusterRef, signal));
      if (isLost) log.info({}, 'the control planes and their disks no longer exist, and with them all access');
      return { ...view, isClusterLost: isLost };
    }
  }
}

/** The failure of a cluster that does not answer; other errors are thrown. */
async function revokeObjects(
  services: Services,
  { target, identity }: AccessRequestView,
  signal: AbortSignal,
): Promise<Pick<AccessRequestView, 'areObjectsRemoved' | 'failure'>> {
  if (!target || 'waiting' in target) throw new ProviderError('INTERNAL', 'The target cluster is unknown.');
  try {
    const connection = await openTargetConnection(services, target.ref, target.server);
    await revokeAccess(connection, identity, signal);
    return { areObjectsRemoved: true };
  } catch (error) {
    signal.throwIfAborted();
    const failure = explainUnreachable(error);
    if (!failure) throw error;
    return { failure };
  }
}
