import type { AccessRequestDecision, DecisionTime, GrantAction } from '../decision.ts';
import { accessResyncSeconds } from '../resync-interval.ts';
import { type DesiredAccess, InvalidAccessRequestError } from '../target-cluster/desired-access.ts';
import type { AccessRequestView } from '../view.ts';
import { describeRejection, settleGrant } from './describe-grant.ts';

/**
 * The next action to take back what an earlier spec was granted; undefined if it is done. `roles`: the rights, without
 * the account and the Secret.
 */
export function withdrawGrant(view: AccessRequestView, scope: 'all' | 'roles'): GrantAction | undefined {
  if (!view.areObjectsRemoved) return { kind: 'remove-objects', scope };
  return scope === 'all' && !view.isSecretRemoved ? { kind: 'remove-secret' } : undefined;
}

/**
 * The next action to create the objects of a request; undefined if they are in place. An invalid request loses the
 * access of its earlier spec, because its current spec does not ask for it.
 */
export function decideObjects(
  view: AccessRequestView,
  time: DecisionTime,
  describe: () => DesiredAccess,
): AccessRequestDecision | undefined {
  if (view.ensured) return undefined;
  try {
    return { kind: 'ensure-objects', access: describe() };
  } catch (error) {
    if (!(error instanceof InvalidAccessRequestError)) throw error;
    // Only a change of the request itself corrects it.
    const result = describeRejection('InvalidConfig', error.message, accessResyncSeconds);
    return withdrawGrant(view, 'roles') ?? settleGrant(view, time, result);
  }
}
