import { AccessRequest } from '../../api/openmcp/types.ts';
import type { ReconcileContext } from '../../kube/controller/controller.ts';
import { consumeOperation, ensureFinalizer, removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import type { AccessRequestDecision } from './decision.ts';
import { findTargetCluster } from './find-target-cluster.ts';
import { actOnGrant } from './grant/act-on-grant.ts';
import { actOnRevocation } from './revocation/act-on-revocation.ts';
import { type AccessRequestView, findCachedSecret } from './view.ts';

/** Executes the decision and returns the view after it. Undefined: the request needs nothing more. */
export async function actOnAccessRequest(
  services: Services,
  view: AccessRequestView,
  decision: Exclude<AccessRequestDecision, { kind: 'settled' }>,
  context: Pick<ReconcileContext, 'signal' | 'log'>,
): Promise<AccessRequestView | undefined> {
  const next = await executeDecision(services, view, decision, context);
  return next && { ...next, secret: findCachedSecret(services, next.request) };
}

async function executeDecision(
  services: Services,
  view: AccessRequestView,
  decision: Exclude<AccessRequestDecision, { kind: 'settled' }>,
  context: Pick<ReconcileContext, 'signal' | 'log'>,
): Promise<AccessRequestView | undefined> {
  const { kube } = services;
  const { request, finalizer } = view;
  switch (decision.kind) {
    case 'consume-operation': {
      const { object } = await consumeOperation(kube, AccessRequest, request, context.signal);
      return { ...view, request: object, isRenewalRequested: true };
    }
    case 'add-finalizer': {
      const held = await ensureFinalizer(kube, AccessRequest, request, finalizer, context.signal);
      return held && { ...view, request: held };
    }
    case 'remove-finalizer':
      await removeFinalizer(kube, AccessRequest, request, finalizer, context.signal);
      if (decision.message !== undefined) context.log.info({}, decision.message);
      return undefined;
    case 'find-target':
      return { ...view, target: findTargetCluster(services, request) };
    case 'revoke-secret':
    case 'read-revocation-need':
    case 'revoke-objects':
    case 'check-cluster-loss':
      return await actOnRevocation(services, view, decision, context);
    default:
      return await actOnGrant(services, view, decision, context);
  }
}
