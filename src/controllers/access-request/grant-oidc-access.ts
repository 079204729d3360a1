import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { accessSecretName } from '../../api/names.ts';
import type { Cluster, NamespacedRef, OidcAccess } from '../../api/openmcp/types.ts';
import { findClusterSecret } from '../cluster/ownership.ts';
import { isTrustedFor, readTrustRecord } from '../rollout/oidc-trust/trust-record.ts';
import { type RequestTrustStatus, readTrustReport, type TrustReport } from '../rollout/oidc-trust/trust-report.ts';
import type { AccessRequestContext } from './access-request-context.ts';
import {
  containsOidcKubeconfig,
  deleteAccessSecret,
  isSecretOwnedBy,
  readTokenExpiry,
  writeAccessSecret,
} from './access-secret.ts';
import { accessResyncSeconds, type GrantOutcome, secondsUntilResync } from './grant-outcome.ts';
import { type ApiServerEndpoint, renderOidcKubeconfig } from './kubeconfig.ts';
import type { TargetConnection } from './target-cluster/access-object-cache.ts';
import { describeOidcAccess } from './target-cluster/describe-oidc-access.ts';
import { revokeAccess } from './target-cluster/ensure-access.ts';
import { ensureRequestedAccess } from './target-cluster/ensure-requested-access.ts';

interface TargetCluster {
  readonly ref: ClusterIdentity;
  readonly cluster: Cluster;
  readonly server: ApiServerEndpoint;
}

/** A change of the Cluster wakes its requests. This is the interval for everything else. */
const waitSeconds = 60;

/**
 * Grants access to the users of an OIDC issuer: roles in the cluster, and a kubeconfig for the login. The Cluster
 * controller decides about the trust in the issuer and rolls it out; access is granted only after that.
 */
export async function grantOidcAccess(
  task: AccessRequestContext,
  place: TargetCluster,
  connection: TargetConnection,
  oidc: OidcAccess,
): Promise<GrantOutcome> {
  const { request, identity, signal } = task;
  const report = readTrustReport(place.cluster);
  const { uid, generation } = request.metadata;
  const verdict = report?.requests.find((one) => one.uid === uid && one.generation === generation);
  if (!report || !verdict || verdict.state === 'Refused') {
    await revokeAccess(connection, identity, signal);
    await deleteAccessSecret(task.services.kube, request, signal);
    return { ...(verdict ? describeTrustRejected(verdict) : awaitTrustDecision()), secretRemoved: true };
  }
  if (verdict.state === 'Failed') return await handleTrustFailure(task, place, connection, verdict);
  await ensureRequestedAccess(connection, identity, () => describeOidcAccess(oidc, identity), signal);
  if (verdict.state === 'Trusted') return await ensureOidcSecret(task, place, oidc);
  const secretRemoved = await deleteTokenSecret(task);
  return { ...describeTrustRollout(report), ...(secretRemoved ? { secretRemoved } : {}) };
}

const describeNotGranted = (
  reason: 'WaitingForTrust' | 'TrustRejected' | 'TrustFailed',
  message: string,
): ConditionState[] => [
  conditionTrue('ClusterReady'),
  conditionFalse('TrustReady', reason, message),
  conditionFalse('AccessReady', reason, message),
];

function awaitTrustDecision(): GrantOutcome {
  const message = 'The Cluster has not taken note of this request yet.';
  return {
    states: describeNotGranted('WaitingForTrust', message),
    requeueAfterSeconds: waitSeconds,
  };
}

const describeTrustRejected = ({ message = '' }: RequestTrustStatus): GrantOutcome => ({
  states: describeNotGranted('TrustRejected', message),
  requeueAfterSeconds: accessResyncSeconds,
});

/** Access of an earlier spec stays while its issuer is trusted. The current spec is not granted. */
async function handleTrustFailure(
  task: AccessRequestContext,
  { ref }: TargetCluster,
  connection: TargetConnection,
  { message = '' }: RequestTrustStatus,
): Promise<GrantOutcome> {
  const { services, request, identity, signal } = task;
  const object = findClusterSecret(services, ref);
  if (!isTrustedFor(object && readTrustRecord(object), request.metadata.uid)) {
    await revokeAccess(connection, identity, signal);
    await deleteAccessSecret(services.kube, request, signal);
  }
  const isTold = request.status?.conditions?.some((one) => one.reason === 'TrustFailed' && one.message === message);
  if (!isTold) services.events.record(request, 'Warning', 'TrustFailed', message);
  return { states: describeNotGranted('TrustFailed', message), requeueAfterSeconds: accessResyncSeconds };
}

function describeTrustRollout({ updated, total, message }: TrustReport): GrantOutcome {
  const far = `${updated} of ${total} control planes trust the issuer.`;
  const said = message === undefined ? far : `${far} ${message}`;
  return { states: describeNotGranted('WaitingForTrust', said), requeueAfterSeconds: waitSeconds };
}

/** Deletes the Secret of an earlier token, whose account is already deleted. Returns whether it existed. */
async function deleteTokenSecret({ services, request, identity, signal }: AccessRequestContext): Promise<boolean> {
  if (readTokenExpiry(findCachedSecret(services, identity.request)) === undefined) return false;
  await deleteAccessSecret(services.kube, request, signal);
  return true;
}

async function ensureOidcSecret(
  task: AccessRequestContext,
  { ref, server }: TargetCluster,
  oidc: OidcAccess,
): Promise<GrantOutcome> {
  const { services, request, identity, signal, log } = task;
  const name = accessSecretName(identity.request);
  const login = {
    name: oidc.name,
    issuer: oidc.issuer,
    clientId: oidc.clientID,
    extraScopes: oidc.extraScopes ?? [],
    ca: findIssuerCa(task, ref, oidc.issuer),
  };
  const kubeconfig = renderOidcKubeconfig(server, ref, login);
  const present = findCachedSecret(services, identity.request);
  if (!present || !isSecretOwnedBy(present, request) || !containsOidcKubeconfig(present, kubeconfig)) {
    const { provider, kube, events, observer } = services;
    await writeAccessSecret(kube, { request, provider, id: identity.id, inputs: { server }, kubeconfig }, signal);
    observer.granted('oidc', present && isSecretOwnedBy(present, request) ? 'renewal' : 'new');
    events.record(request, 'Normal', 'Granted', `A kubeconfig for users of ${oidc.issuer} lies in Secret ${name}.`);
    log.info({ secret: name, issuer: oidc.issuer }, 'access granted');
  }
  return {
    states: [conditionTrue('ClusterReady'), conditionTrue('TrustReady'), conditionTrue('AccessReady')],
    secretName: name,
    requeueAfterSeconds: secondsUntilResync(services.clock),
  };
}

const findCachedSecret = ({ stores }: AccessRequestContext['services'], ref: NamespacedRef) =>
  stores.accessSecrets.get({ namespace: ref.namespace, name: accessSecretName(ref) });

/** The CA certificate that the nodes use for the issuer also belongs in the kubeconfig. */
function findIssuerCa({ services }: AccessRequestContext, ref: ClusterIdentity, issuer: string): string | undefined {
  const object = findClusterSecret(services, ref);
  return object && readTrustRecord(object)?.entries.find((entry) => entry.issuer === issuer)?.ca;
}
