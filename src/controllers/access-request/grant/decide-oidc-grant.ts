import { type ConditionState, conditionFalse, conditionTrue } from '../../../api/conditions.ts';
import { accessSecretName } from '../../../api/names.ts';
import type { OidcAccess } from '../../../api/openmcp/types.ts';
import { isTrustedFor } from '../../rollout/oidc-trust/trust-record.ts';
import type { RequestTrustStatus, TrustReport } from '../../rollout/oidc-trust/trust-report.ts';
import { containsOidcKubeconfig, isSecretOwnedBy, readTokenExpiry } from '../access-secret.ts';
import type { AccessRequestDecision, DecisionTime } from '../decision.ts';
import type { TargetCluster } from '../find-target-cluster.ts';
import { renderOidcKubeconfig } from '../kubeconfig.ts';
import { accessResyncSeconds } from '../resync-interval.ts';
import { describeOidcAccess } from '../target-cluster/describe-oidc-access.ts';
import type { AccessRequestView } from '../view.ts';
import { decideObjects, withdrawGrant } from './decide-objects.ts';
import { type GrantResult, settleGrant } from './describe-grant.ts';

/** A change of the Cluster wakes its requests. This is the interval for everything else. */
const waitSeconds = 60;

interface OidcGrantInput {
  readonly target: TargetCluster;
  readonly oidc: OidcAccess;
  readonly time: DecisionTime;
}

/**
 * Roles in the cluster for the users of an OIDC issuer, and a kubeconfig for the login. The Cluster controller decides
 * about the trust in the issuer and rolls it out; access is granted only after that.
 */
export function decideOidcGrant(view: AccessRequestView, input: OidcGrantInput): AccessRequestDecision {
  const { target, oidc, time } = input;
  const { uid, generation } = view.request.metadata;
  const report = target.trustReport;
  const verdict = report?.requests.find((one) => one.uid === uid && one.generation === generation);
  if (!report || !verdict) return withdrawGrant(view, 'all') ?? settleGrant(view, time, undecidedTrust);
  if (verdict.state === 'Refused')
    return withdrawGrant(view, 'all') ?? settleGrant(view, time, describeRejectedTrust(verdict));
  if (verdict.state === 'Failed') return decideFailedTrust(view, input, verdict);
  const objects = decideObjects(view, time, () => describeOidcAccess(oidc, view.identity));
  if (objects) return objects;
  if (verdict.state === 'Trusted') return decideOidcSecret(view, input);
  // The Secret of an earlier token, whose account is already deleted.
  const hasToken = readTokenExpiry(view.secret) !== undefined;
  if (hasToken && !view.isSecretRemoved) return { kind: 'remove-secret' };
  return settleGrant(view, time, describeTrustRollout(report));
}

/** Access of an earlier spec stays while its issuer is trusted. The current spec is not granted. */
function decideFailedTrust(
  view: AccessRequestView,
  { target, time }: OidcGrantInput,
  { message = '' }: RequestTrustStatus,
): AccessRequestDecision {
  const { request } = view;
  const withdrawal = isTrustedFor(target.trust, request.metadata.uid) ? undefined : withdrawGrant(view, 'all');
  if (withdrawal) return withdrawal;
  const isReported = request.status?.conditions?.some((one) => one.reason === 'TrustFailed' && one.message === message);
  return settleGrant(view, time, {
    states: describeNotGranted('TrustFailed', message),
    requeueAfterSeconds: accessResyncSeconds,
    ...(isReported ? {} : { warning: { about: request, reason: 'TrustFailed', message } }),
  });
}

function decideOidcSecret(view: AccessRequestView, { target, oidc, time }: OidcGrantInput): AccessRequestDecision {
  const { request, secret, written, identity } = view;
  const granted: GrantResult = {
    states: [conditionTrue('ClusterReady'), conditionTrue('TrustReady'), conditionTrue('AccessReady')],
    secretName: accessSecretName(identity.request),
    requeueAfterSeconds: time.secondsUntilResync,
  };
  if (written) return settleGrant(view, time, granted);
  const isOwned = secret !== undefined && isSecretOwnedBy(secret, request);
  const kubeconfig = renderOidcKubeconfig(target.server, target.ref, {
    name: oidc.name,
    issuer: oidc.issuer,
    clientId: oidc.clientID,
    extraScopes: oidc.extraScopes ?? [],
    // The CA certificate that the nodes use for the issuer also belongs in the kubeconfig.
    ca: target.trust?.entries.find((entry) => entry.issuer === oidc.issuer)?.ca,
  });
  if (isOwned && containsOidcKubeconfig(secret, kubeconfig)) return settleGrant(view, time, granted);
  return { kind: 'write-oidc-secret', issuer: oidc.issuer, kubeconfig, isNew: !isOwned };
}

const describeNotGranted = (
  reason: 'WaitingForTrust' | 'TrustRejected' | 'TrustFailed',
  message: string,
): ConditionState[] => [
  conditionTrue('ClusterReady'),
  conditionFalse('TrustReady', reason, message),
  conditionFalse('AccessReady', reason, message),
];

const undecidedTrust: GrantResult = {
  states: describeNotGranted('WaitingForTrust', 'The Cluster has not processed this AccessRequest yet.'),
  requeueAfterSeconds: waitSeconds,
};

const describeRejectedTrust = ({ message = '' }: RequestTrustStatus): GrantResult => ({
  states: describeNotGranted('TrustRejected', message),
  requeueAfterSeconds: accessResyncSeconds,
});

function describeTrustRollout({ updated, total, message }: TrustReport): GrantResult {
  const far = `${updated} of ${total} control planes trust the issuer.`;
  const explanation = message === undefined ? far : `${far} ${message}`;
  return { states: describeNotGranted('WaitingForTrust', explanation), requeueAfterSeconds: waitSeconds };
}
