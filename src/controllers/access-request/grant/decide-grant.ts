import type { AccessRequestDecision, DecisionTime } from '../decision.ts';
import { accessResyncSeconds } from '../resync-interval.ts';
import type { AccessRequestView } from '../view.ts';
import { withdrawGrant } from './decide-objects.ts';
import { decideOidcGrant } from './decide-oidc-grant.ts';
import { decideTokenGrant } from './decide-token-grant.ts';
import { describeAwaitedCluster, describeFailure, describeRejection, settleGrant } from './describe-grant.ts';

/** The next action towards the requested access. */
export function decideGrant(view: AccessRequestView, time: DecisionTime): AccessRequestDecision {
  const { target, failure, request } = view;
  if (!target) return { kind: 'find-target' };
  if ('waiting' in target) return settleGrant(view, time, describeAwaitedCluster(target.waiting));
  if (failure) return settleGrant(view, time, describeFailure(failure));
  const { token, oidc } = request.spec;
  if (token) return decideTokenGrant(view, { target, token, time });
  if (oidc) return decideOidcGrant(view, { target, oidc, time });
  // The access of an earlier spec is revoked.
  const message = 'spec: token or oidc is required. Set one of them.';
  const result = describeRejection('InvalidConfig', message, accessResyncSeconds);
  return withdrawGrant(view, 'all') ?? settleGrant(view, time, result);
}
