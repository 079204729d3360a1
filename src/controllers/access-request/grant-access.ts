import { type ConditionReason, type ConditionState, conditionFalse, conditionTrue } from '../../api/conditions.ts';
import { accessSecretName } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import { isRejection, isUnreachable } from '../../kube/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { AccessRequestContext } from './access-request-context.ts';
import {
  assertSecretWritable,
  computeRenewalTime,
  deleteAccessSecret,
  findRenewalDueAt,
  type KubeconfigInputs,
  SecretNotWritableError,
  writeAccessSecret,
} from './access-secret.ts';
import { findTargetCluster } from './find-target-cluster.ts';
import { grantOidcAccess } from './grant-oidc-access.ts';
import { accessResyncSeconds, type GrantOutcome, secondsUntilResync } from './grant-outcome.ts';
import { renderTokenKubeconfig } from './kubeconfig.ts';
import { openTargetConnection, type TargetConnection } from './target-cluster/access-object-cache.ts';
import { describeTokenAccess, InvalidAccessRequestError } from './target-cluster/desired-access.ts';
import { NotManagedError, revokeAccess, TargetRejectionError } from './target-cluster/ensure-access.ts';
import { ensureRequestedAccess } from './target-cluster/ensure-requested-access.ts';
import { signingKeyIdOf } from './target-cluster/signing-key-cache.ts';

/** Thirty days, the duration that the other openMCP providers request. */
const tokenSeconds = 30 * 24 * 3600;
/** Also for what a person removes or changes where no informer sees it. */
const waitSeconds = 30;

/** Grants the requested access and renews its token. `renew`: even if the token is still valid. */
export async function grantAccess(task: AccessRequestContext, renew: boolean): Promise<GrantOutcome> {
  const { services, request, identity, signal } = task;
  const target = findTargetCluster(services, request);
  if ('waiting' in target) return describeWaiting(target.waiting);
  const connection = await openTargetConnection(services, target.ref, target.server);
  try {
    const { token, oidc } = request.spec;
    if (!token)
      return oidc ? await grantOidcAccess(task, target, connection, oidc) : await rejectEmptyRequest(task, connection);
    const account = await ensureRequestedAccess(
      connection,
      identity,
      () => describeTokenAccess(token, identity),
      signal,
    );
    return await ensureTokenSecret(task, { server: target.server, account }, connection, renew);
  } catch (error) {
    signal.throwIfAborted();
    return explainFailure(error);
  }
}

function describeWaiting(state: ConditionState): GrantOutcome {
  const message = `${state.message} Access follows by itself.`;
  const told = state.reason === 'WaitingForCluster' ? { ...state, message } : state;
  return {
    states: [told, conditionFalse('AccessReady', 'WaitingForCluster', 'Nothing is granted yet.')],
    requeueAfterSeconds: waitSeconds,
  };
}

/** Converts errors that a user can fix, and errors of an unreachable cluster, into conditions. Rethrows all others. */
function explainFailure(error: unknown): GrantOutcome {
  const refused = (reason: ConditionReason, message: string, againInSeconds = waitSeconds): GrantOutcome => ({
    states: [conditionTrue('ClusterReady'), conditionFalse('AccessReady', reason, message)],
    requeueAfterSeconds: againInSeconds,
  });
  // Only a change of the request itself mends it.
  if (error instanceof InvalidAccessRequestError) return refused('InvalidConfig', error.message, accessResyncSeconds);
  if (error instanceof NotManagedError) return refused('NotManaged', error.message);
  if (error instanceof SecretNotWritableError) return refused('SecretNotWritable', error.message);
  if (isUnreachable(error) || error instanceof ProviderError) {
    const message = `The cluster does not answer: ${(error as Error).message}`;
    return {
      states: [
        conditionFalse('ClusterReady', 'WaitingForCluster', message),
        conditionFalse('AccessReady', 'WaitingForCluster', message),
      ],
      requeueAfterSeconds: waitSeconds,
    };
  }
  if (error instanceof TargetRejectionError) return refused('TargetRejected', error.message);
  if (isRejection(error)) return refused('TargetRejected', `The cluster refused: ${(error as Error).message}`);
  throw error;
}

/** Rejects a request without token and oidc, and revokes the access of its earlier spec. */
async function rejectEmptyRequest(
  { services, request, identity, signal }: AccessRequestContext,
  connection: TargetConnection,
): Promise<GrantOutcome> {
  await revokeAccess(connection, identity, signal);
  await deleteAccessSecret(services.kube, request, signal);
  const message = 'spec: neither token nor oidc is given. Say what is asked for.';
  return {
    states: [conditionTrue('ClusterReady'), conditionFalse('AccessReady', 'InvalidConfig', message)],
    secretRemoved: true,
    requeueAfterSeconds: accessResyncSeconds,
  };
}

async function ensureTokenSecret(
  task: AccessRequestContext,
  inputs: KubeconfigInputs,
  connection: TargetConnection,
  renew: boolean,
): Promise<GrantOutcome> {
  const { services, request, identity, signal, log } = task;
  const name = accessSecretName(identity.request);
  const now = services.clock.now();
  const key = { namespace: identity.request.namespace, name };
  // The store has only Secrets with our labels.
  const present = services.stores.accessSecrets.get(key) ?? (await services.kube.find(Secret, key, signal));
  // Before the check of the renewal time: the error is reported at once, and no token is requested that cannot be
  // stored.
  if (present) assertSecretWritable(present, request);
  if (!renew && present) {
    const due = findRenewalDueAt(present, inputs, await connection.keys.read(signal), now);
    if (due && now < due) return describeGranted(services.clock, name, due);
  }
  const account = { namespace: identity.accountNamespace, name: identity.id };
  const { token, expiration: expires } = await connection.client.requestToken(
    account,
    { expirationSeconds: tokenSeconds },
    signal,
  );
  const { provider } = services;
  const kubeconfig = renderTokenKubeconfig(inputs.server, provider, token);
  const lifetime = { created: now, expires };
  const signingKey = signingKeyIdOf(token);
  const written = { request, provider, id: identity.id, inputs, kubeconfig, signingKey, lifetime };
  await writeAccessSecret(services.kube, written, signal);
  const until = expires.toISOString();
  const isNew = !present;
  services.observer.granted('token', isNew ? 'new' : 'renewal');
  // A renewal causes no Event.
  if (isNew) services.events.record(request, 'Normal', 'Granted', `A token until ${until} lies in Secret ${name}.`);
  log.info({ secret: name, until }, 'access granted');
  return describeGranted(services.clock, name, computeRenewalTime(now, expires));
}

function describeGranted(clock: Clock, secretName: string, due: Date): GrantOutcome {
  const untilDue = Math.max(1, (due.getTime() - clock.now().getTime()) / 1000);
  return {
    states: [conditionTrue('ClusterReady'), conditionTrue('AccessReady')],
    secretName,
    requeueAfterSeconds: Math.min(secondsUntilResync(clock), untilDue),
  };
}
