import { conditionTrue } from '../../../api/conditions.ts';
import { accessSecretName } from '../../../api/names.ts';
import type { AccessRequest } from '../../../api/openmcp/types.ts';
import { findRenewalDueAt, findSecretWriteProblem, type KubeconfigInputs } from '../access-secret.ts';
import type { AccessRequestDecision, DecisionTime } from '../decision.ts';
import { explainFailure } from '../explain-failure.ts';
import type { TargetCluster } from '../find-target-cluster.ts';
import { describeTokenAccess } from '../target-cluster/desired-access.ts';
import type { AccessRequestView } from '../view.ts';
import { decideObjects } from './decide-objects.ts';
import { describeFailure, type GrantResult, settleGrant } from './describe-grant.ts';

interface TokenGrantInput {
  readonly target: TargetCluster;
  readonly token: NonNullable<AccessRequest['spec']['token']>;
  readonly time: DecisionTime;
}

/** Account, roles and bindings first, then a token in the Secret of the request. */
export function decideTokenGrant(
  view: AccessRequestView,
  { target, token, time }: TokenGrantInput,
): AccessRequestDecision {
  const objects = decideObjects(view, time, () => describeTokenAccess(token, view.identity));
  return objects ?? decideToken(view, { server: target.server, account: view.ensured?.account }, time);
}

function decideToken(view: AccessRequestView, inputs: KubeconfigInputs, time: DecisionTime): AccessRequestDecision {
  const { request, secret, soughtSecret, written, signingKeys, isRenewalRequested } = view;
  if (written?.renewalDue) return settleGrant(view, time, describeGranted(view, written.renewalDue, time));
  // The cache lacks a Secret whose labels were removed, or that was just created.
  if (!secret && !soughtSecret) return { kind: 'seek-secret' };
  const present = secret ?? soughtSecret?.object;
  // Before the renewal time: the error is reported at once, and no token is requested that cannot be stored.
  const problem = present && explainFailure(findSecretWriteProblem(present, request));
  if (problem) return settleGrant(view, time, describeFailure(problem));
  if (present && !isRenewalRequested) {
    if (!signingKeys) return { kind: 'read-signing-keys' };
    const due = findRenewalDueAt(present, inputs, signingKeys.ids, time.now);
    if (due && time.now < due) return settleGrant(view, time, describeGranted(view, due, time));
  }
  return { kind: 'issue-token', inputs, isNew: !present };
}

function describeGranted(
  { identity }: AccessRequestView,
  due: Date,
  { now, secondsUntilResync }: DecisionTime,
): GrantResult {
  const untilDue = Math.max(1, (due.getTime() - now.getTime()) / 1000);
  return {
    states: [conditionTrue('ClusterReady'), conditionTrue('AccessReady')],
    secretName: accessSecretName(identity.request),
    requeueAfterSeconds: Math.min(secondsUntilResync, untilDue),
  };
}
