import { type ConditionState, mergeConditions, no, summarize, yes } from '../../api/conditions.ts';
import { accessId, accessSecretName, finalizers, openmcp, secretsName } from '../../api/names.ts';
import { AccessRequest, Cluster, endpointNames, phases } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isUnreachable, KubeError } from '../../kube/errors.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { isOurs } from '../cluster/view.ts';
import { readClusterSecrets } from '../cluster-secrets.ts';
import { dropFinalizer, ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { dueAt, expiresAt, isOwnedBy, writeAccessSecret } from './access-secret.ts';
import { type AccessIdentity, describeAccess, InvalidRequest } from './describe.ts';
import { type ServerIdentity, tokenKubeconfig } from './kubeconfig.ts';
import { ensureAccess, NotManaged, revokeAccess } from './target.ts';

/** Thirty days, as the other openMCP providers ask for. */
const tokenSeconds = 30 * 24 * 3600;
/** Objects in the target cluster are looked at this often, so that what was changed by hand is put right. */
const lookAgainSeconds = 600;
const waitSeconds = 30;

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface AccessOptions {
  /** Namespace for ServiceAccounts in target clusters. */
  readonly accountNamespace: string;
}

/**
 * The rule by which the openMCP operator hands a request to a provider: both labels, and a phase that is Pending, or
 * Granted for the current generation. Outside of it a request is not ours, not even in deletion.
 */
export function isResponsible(request: AccessRequest, provider: string): boolean {
  const { labels, generation } = request.metadata;
  if (labels?.[openmcp.provider] !== provider || labels[openmcp.profile] === undefined) return false;
  const phase = request.status?.phase;
  if (phase === phases.pending) return true;
  return phase === phases.granted && request.status?.observedGeneration === generation;
}

/** One AccessRequest: granted exactly, renewed in time, withdrawn completely. */
export async function reconcileAccessRequest(
  services: Services,
  options: AccessOptions,
  key: ObjectKey,
  context: Context,
): Promise<Result> {
  const request = services.stores.accessRequests.get(key);
  if (!request || !isResponsible(request, services.provider)) return {};
  const operation = await takeOperation(services.kube, AccessRequest, request, context.signal);
  if (operation === 'ignore') return {};
  const ref = { namespace: request.metadata.namespace ?? '', name: request.metadata.name };
  const identity: AccessIdentity = {
    id: accessId(services.environment, services.provider, ref),
    provider: services.provider,
    accountNamespace: options.accountNamespace,
    request: ref,
  };
  if (request.metadata.deletionTimestamp) return await withdraw(services, request, identity, context);
  const held = await ensureFinalizer(services.kube, AccessRequest, request, finalizers.accessRequest, context.signal);
  const outcome = await grant(services, held, identity, operation === 'reconcile', context);
  await report(services, held, outcome, context);
  return { againInSeconds: outcome.againInSeconds };
}

interface Outcome {
  readonly states: readonly ConditionState[];
  readonly secretName?: string;
  readonly againInSeconds: number;
}

/** The target of a request, or why there is none yet. */
type Target = { readonly cluster: Cluster; readonly server: ServerIdentity } | { readonly waiting: ConditionState };

function findTarget(services: Services, request: AccessRequest): Target {
  const ref = request.spec.clusterRef;
  if (!ref)
    return {
      waiting: no('ClusterReady', 'InvalidReference', 'spec.clusterRef: not set yet. The operator fills it in.'),
    };
  const cluster = services.stores.clusters.get(ref);
  if (!cluster)
    return {
      waiting: no(
        'ClusterReady',
        'ClusterMissing',
        `spec.clusterRef: there is no Cluster ${ref.namespace}/${ref.name}.`,
      ),
    };
  if (!isOurs(services, cluster)) {
    return {
      waiting: no(
        'ClusterReady',
        'InvalidReference',
        `spec.clusterRef: Cluster ${ref.namespace}/${ref.name} does not belong to this provider.`,
      ),
    };
  }
  const url = cluster.status?.endpoints?.find((endpoint) => endpoint.name === endpointNames.external)?.url;
  const secrets = services.stores.secrets.get({ namespace: services.namespace, name: secretsName(ref) });
  if (!url || !secrets)
    return {
      waiting: no(
        'ClusterReady',
        'WaitingForCluster',
        `Cluster ${ref.namespace}/${ref.name} is not ready yet. Access follows by itself.`,
      ),
    };
  return { cluster, server: { url, ca: readClusterSecrets(secrets).bundle.authorities.kubernetes.certificate } };
}

async function grant(
  services: Services,
  request: AccessRequest,
  identity: AccessIdentity,
  renew: boolean,
  context: Context,
): Promise<Outcome> {
  const target = findTarget(services, request);
  if ('waiting' in target) return { states: [target.waiting, pending()], againInSeconds: waitSeconds };
  const { cluster, server } = target;
  const client = await services.targets.client(
    { namespace: cluster.metadata.namespace ?? '', name: cluster.metadata.name },
    server.url,
  );
  try {
    if (!request.spec.token) return await refuseOthers(services, request, identity, client, context);
    const access = describeAccess(request.spec.token, identity);
    await ensureAccess(client, access, context.signal);
    return await ensureToken(services, request, identity, server, client, renew, context);
  } catch (error) {
    context.signal.throwIfAborted();
    return explain(error);
  }
}

const pending = (): ConditionState => no('AccessReady', 'WaitingForCluster', 'Nothing is granted yet.');

/** What went wrong, as conditions where people can do something about it; everything else is thrown on. */
function explain(error: unknown): Outcome {
  const reachable = yes('ClusterReady');
  if (error instanceof InvalidRequest)
    return { states: [reachable, no('AccessReady', 'InvalidConfig', error.message)], againInSeconds: lookAgainSeconds };
  if (error instanceof NotManaged)
    return { states: [reachable, no('AccessReady', 'NotManaged', error.message)], againInSeconds: lookAgainSeconds };
  if (isUnreachable(error) || error instanceof ProviderError) {
    const message = `The cluster does not answer: ${(error as Error).message}`;
    return {
      states: [no('ClusterReady', 'WaitingForCluster', message), no('AccessReady', 'WaitingForCluster', message)],
      againInSeconds: waitSeconds,
    };
  }
  if (
    error instanceof KubeError &&
    error.status >= 400 &&
    error.status < 500 &&
    error.status !== 409 &&
    error.status !== 429
  ) {
    return {
      states: [reachable, no('AccessReady', 'TargetRefused', `The cluster refused: ${error.message}`)],
      againInSeconds: lookAgainSeconds,
    };
  }
  throw error;
}

/** Trust in an OIDC issuer is not built yet. What an earlier token request left behind goes all the same. */
async function refuseOthers(
  services: Services,
  request: AccessRequest,
  identity: AccessIdentity,
  client: Parameters<typeof revokeAccess>[0],
  context: Context,
): Promise<Outcome> {
  await revokeAccess(client, identity.id, context.signal);
  await removeSecret(services, request, context);
  const message = request.spec.oidc
    ? 'spec.oidc: this release cannot set up trust in an OIDC issuer. Ask for a token instead (spec.token).'
    : 'spec: neither token nor oidc is given. Say what is asked for.';
  return {
    states: [yes('ClusterReady'), no('AccessReady', request.spec.oidc ? 'NotSupported' : 'InvalidConfig', message)],
    againInSeconds: lookAgainSeconds,
  };
}

async function ensureToken(
  services: Services,
  request: AccessRequest,
  identity: AccessIdentity,
  server: ServerIdentity,
  client: Parameters<typeof revokeAccess>[0],
  renew: boolean,
  context: Context,
): Promise<Outcome> {
  const name = accessSecretName(identity.request);
  const now = services.clock.now();
  const present = services.stores.accessSecrets.get({ namespace: identity.request.namespace, name });
  const due = renew || !present || !isOwnedBy(present, request) ? undefined : dueAt(present, server);
  if (due && now < due) return granted(name, due, now);
  const account = { namespace: identity.accountNamespace, name: identity.id };
  const { token, expiration } = await client.requestToken(account, { expirationSeconds: tokenSeconds }, context.signal);
  const kubeconfig = tokenKubeconfig(server, services.provider, token);
  const written = {
    request,
    provider: services.provider,
    id: identity.id,
    server,
    kubeconfig,
    created: now,
    expires: expiration,
  };
  await writeAccessSecret(services.kube, written, context.signal);
  services.events.record(
    request,
    'Normal',
    'Granted',
    `A token until ${expiration.toISOString()} lies in Secret ${name}.`,
  );
  context.log.info({ secret: name, until: expiration.toISOString() }, 'access granted');
  return granted(name, new Date(now.getTime() + 0.8 * (expiration.getTime() - now.getTime())), now);
}

function granted(secretName: string, due: Date, now: Date): Outcome {
  const untilDue = Math.max(1, (due.getTime() - now.getTime()) / 1000);
  return {
    states: [yes('ClusterReady'), yes('AccessReady')],
    secretName,
    againInSeconds: Math.min(lookAgainSeconds, untilDue),
  };
}

/**
 * Granted when everything is there. A request that is granted stays so while its token is good, even when the cluster
 * cannot be reached for a while: the conditions say what is wrong.
 */
async function report(services: Services, request: AccessRequest, outcome: Outcome, context: Context): Promise<void> {
  const generation = request.metadata.generation ?? 0;
  const ready = summarize(outcome.states);
  const away = outcome.states.some((state) => state.type === 'ClusterReady' && state.status !== 'True');
  const stays = away && stillGood(services, request);
  const isGranted = ready.status === 'True' || stays;
  const name = outcome.secretName ?? (stays ? request.status?.secretRef?.name : undefined);
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: isGranted ? phases.granted : phases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [...outcome.states, ready], {
      generation,
      now: services.clock.now(),
    }),
    ...(name ? { secretRef: { name } } : {}),
  };
  await writeStatus(services.kube, AccessRequest, request, status, context.signal);
}

function stillGood(services: Services, request: AccessRequest): boolean {
  if (request.status?.phase !== phases.granted || request.status.observedGeneration !== request.metadata.generation)
    return false;
  const name = request.status.secretRef?.name;
  const secret = name ? services.stores.accessSecrets.get({ namespace: request.metadata.namespace, name }) : undefined;
  const expires = expiresAt(secret);
  return expires !== undefined && services.clock.now() < expires;
}

/** Takes everything back. A cluster that is proven gone has taken the access with it. */
async function withdraw(
  services: Services,
  request: AccessRequest,
  identity: AccessIdentity,
  context: Context,
): Promise<Result> {
  if (!request.metadata.finalizers?.includes(finalizers.accessRequest)) return {};
  await removeSecret(services, request, context);
  if (!(await isGone(services, request, context))) {
    const target = findTarget(services, request);
    if ('waiting' in target) return await reportWithdrawal(services, request, target.waiting.message ?? '', context);
    const ref = { namespace: target.cluster.metadata.namespace ?? '', name: target.cluster.metadata.name };
    try {
      const client = await services.targets.client(ref, target.server.url);
      await revokeAccess(client, identity.id, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isUnreachable(error) && !(error instanceof ProviderError)) throw error;
      return await reportWithdrawal(
        services,
        request,
        `The cluster does not answer: ${(error as Error).message}`,
        context,
      );
    }
  }
  await dropFinalizer(services.kube, AccessRequest, request, finalizers.accessRequest, context.signal);
  context.log.info({}, 'access withdrawn');
  return {};
}

/**
 * Whether there can be nothing left to withdraw, asked of the API server and not of the cache: the Cluster or its
 * secrets do not exist, or etcd was never bootstrapped.
 */
async function isGone(services: Services, request: AccessRequest, context: Context): Promise<boolean> {
  const ref = request.spec.clusterRef;
  if (!ref) return true;
  const cluster = await services.kube.find(Cluster, ref, context.signal);
  if (!cluster) return true;
  const secrets = await services.kube.find(
    KubeSecret,
    { namespace: services.namespace, name: secretsName(ref) },
    context.signal,
  );
  return !secrets || !readClusterSecrets(secrets).bootstrappedAt;
}

async function removeSecret(services: Services, request: AccessRequest, context: Context): Promise<void> {
  const key = {
    namespace: request.metadata.namespace,
    name: accessSecretName({ namespace: request.metadata.namespace ?? '', name: request.metadata.name }),
  };
  const secret = services.stores.accessSecrets.get(key);
  if (!secret || !isOwnedBy(secret, request)) return;
  await services.kube.remove(KubeSecret, key, secret.metadata.uid ? { uid: secret.metadata.uid } : {}, context.signal);
}

async function reportWithdrawal(
  services: Services,
  request: AccessRequest,
  message: string,
  context: Context,
): Promise<Result> {
  const generation = request.metadata.generation ?? 0;
  const state = no(
    'AccessReady',
    'WaitingForDeletion',
    `The access is withdrawn as soon as the cluster answers, or when it is gone. ${message}`,
  );
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: phases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
  };
  await writeStatus(services.kube, AccessRequest, request, status, context.signal);
  return { againInSeconds: waitSeconds };
}
