import { accessSecretName } from '../../../api/names.ts';
import type { ReconcileContext } from '../../../kube/controller/controller.ts';
import { Secret } from '../../../kube/core-types.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Services } from '../../shared/services.ts';
import { computeRenewalTime, deleteAccessSecret, writeAccessSecret } from '../access-secret.ts';
import type { GrantAction } from '../decision.ts';
import { explainFailure } from '../explain-failure.ts';
import type { TargetCluster } from '../find-target-cluster.ts';
import { renderTokenKubeconfig } from '../kubeconfig.ts';
import { openTargetConnection, type TargetConnection } from '../target-cluster/access-object-cache.ts';
import { ensureAccess, revokeAccess, revokeRoles } from '../target-cluster/ensure-access.ts';
import { signingKeyIdOf } from '../target-cluster/signing-key-cache.ts';
import type { AccessRequestView } from '../view.ts';

/** Thirty days, the duration that the other openMCP providers request. */
export const tokenSeconds = 30 * 24 * 3600;

type GrantContext = Pick<ReconcileContext, 'signal' | 'log'>;

interface GrantTask {
  readonly services: Services;
  readonly view: AccessRequestView;
  readonly target: TargetCluster;
  readonly connection: TargetConnection;
  readonly context: GrantContext;
}

/**
 * Executes the action. Errors that a user can fix, and errors of an unreachable cluster, become the failure of the
 * view.
 */
export async function actOnGrant(
  services: Services,
  view: AccessRequestView,
  action: GrantAction,
  context: GrantContext,
): Promise<AccessRequestView> {
  const { target } = view;
  if (!target || 'waiting' in target) throw new ProviderError('INTERNAL', 'The target cluster is unknown.');
  const connection = await openTargetConnection(services, target.ref, target.server);
  try {
    return { ...view, ...(await executeGrantAction({ services, view, target, connection, context }, action)) };
  } catch (error) {
    context.signal.throwIfAborted();
    const failure = explainFailure(error);
    if (!failure) throw error;
    return { ...view, failure };
  }
}

async function executeGrantAction(task: GrantTask, action: GrantAction): Promise<Partial<AccessRequestView>> {
  const { services, view, connection, context } = task;
  const { request, identity } = view;
  const { signal } = context;
  switch (action.kind) {
    case 'ensure-objects':
      return { ensured: { account: await ensureAccess(connection, action.access, signal) } };
    case 'remove-objects':
      await (action.scope === 'all' ? revokeAccess : revokeRoles)(connection, identity, signal);
      return { areObjectsRemoved: true };
    case 'seek-secret': {
      const key = { namespace: identity.request.namespace, name: accessSecretName(identity.request) };
      return { soughtSecret: { object: await services.kube.find(Secret, key, signal) } };
    }
    case 'read-signing-keys':
      return { signingKeys: { ids: await connection.keys.read(signal) } };
    case 'issue-token':
      return await issueToken(task, action);
    case 'write-oidc-secret':
      return await writeOidcSecret(task, action);
    case 'remove-secret':
      await deleteAccessSecret(services.kube, request, signal);
      return { isSecretRemoved: true };
  }
}

async function issueToken(
  { services, view: { request, identity }, connection, context: { signal, log } }: GrantTask,
  { inputs, isNew }: Extract<GrantAction, { kind: 'issue-token' }>,
): Promise<Partial<AccessRequestView>> {
  const created = services.clock.now();
  const account = { namespace: identity.accountNamespace, name: identity.id };
  const options = { expirationSeconds: tokenSeconds };
  const { token, expiration: expires } = await connection.client.requestToken(account, options, signal);
  const { provider, kube } = services;
  const kubeconfig = renderTokenKubeconfig(inputs.server, provider, token);
  const content = { inputs, kubeconfig, signingKey: signingKeyIdOf(token), lifetime: { created, expires } };
  const secret = await writeAccessSecret(kube, { request, provider, id: identity.id, ...content }, signal);
  const until = expires.toISOString();
  services.observer.granted('token', isNew ? 'new' : 'renewal');
  // A renewal causes no Event.
  if (isNew)
    services.events.record(
      request,
      'Normal',
      'Granted',
      `Secret ${secret} has a kubeconfig with a token until ${until}.`,
    );
  log.info({ secret, until }, 'access granted');
  return { written: { renewalDue: computeRenewalTime(created, expires) } };
}

async function writeOidcSecret(
  { services, view: { request, identity }, target: { server }, context: { signal, log } }: GrantTask,
  { issuer, kubeconfig, isNew }: Extract<GrantAction, { kind: 'write-oidc-secret' }>,
): Promise<Partial<AccessRequestView>> {
  const { provider, kube, events, observer } = services;
  const grant = { request, provider, id: identity.id, inputs: { server }, kubeconfig };
  const secret = await writeAccessSecret(kube, grant, signal);
  observer.granted('oidc', isNew ? 'new' : 'renewal');
  events.record(request, 'Normal', 'Granted', `Secret ${secret} has a kubeconfig for users of ${issuer}.`);
  log.info({ secret, issuer }, 'access granted');
  return { written: { renewalDue: undefined } };
}
