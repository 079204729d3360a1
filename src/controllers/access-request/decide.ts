import { type AccessRequestDecision, type DecisionTime, settled } from './decision.ts';
import { decideGrant } from './grant/decide-grant.ts';
import { decideRevocation } from './revocation/decide-revocation.ts';
import { decideUnansweredRequest } from './unanswered-request.ts';
import { type AccessRequestView, hasOwnFinalizer, operationOf } from './view.ts';

/** Decides from the view alone. Executing the decision yields a view in which it is done. */
export function decideAccessRequest(view: AccessRequestView, time: DecisionTime): AccessRequestDecision {
  switch (view.responsibility) {
    case 'other-instance':
      // Only the instance with its finalizer on the Cluster can have granted access in it.
      return hasOwnFinalizer(view) ? { kind: 'remove-finalizer' } : settled();
    case 'none':
      return decideUnansweredRequest(view, time.now);
    case 'formerly-own':
      return operationOf(view.request) === 'ignore' ? settled() : decideRevocation(view, time);
    case 'own':
      return decideOwnRequest(view, time);
  }
}

function decideOwnRequest(view: AccessRequestView, time: DecisionTime): AccessRequestDecision {
  const { request, isRenewalRequested } = view;
  const operation = operationOf(request);
  if (operation === 'ignore' && !isRenewalRequested) return settled();
  if (operation === 'reconcile' && !isRenewalRequested) return { kind: 'consume-operation' };
  if (request.metadata.deletionTimestamp) return hasOwnFinalizer(view) ? decideRevocation(view, time) : settled();
  // Before anything is granted that has to be revoked.
  return hasOwnFinalizer(view) ? decideGrant(view, time) : { kind: 'add-finalizer' };
}
