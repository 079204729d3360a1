import { mergeConditions, summarize } from '../../api/conditions.ts';
import { accessId, accessSecretName, finalizersOf } from '../../api/names.ts';
import { AccessRequest, phases } from '../../api/openmcp.ts';
import type { ReconcileContext, Result } from '../../kube/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { dropFinalizer, ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { isOwnedBy, isUsable } from './access-secret.ts';
import type { AccessIdentity } from './describe.ts';
import { grant } from './grant.ts';
import type { Outcome } from './outcome.ts';
import { hasLeft, isForNamesake, isResponsible } from './responsible.ts';
import type { Task } from './task.ts';
import { tellOfUnanswered } from './unanswered.ts';
import { letGo, withdraw } from './withdraw.ts';

export interface AccessOptions {
  /** Namespace for ServiceAccounts in target clusters. */
  readonly accountNamespace: string;
}

/** One AccessRequest: granted exactly, renewed in time, withdrawn completely. */
export async function reconcileAccessRequest(
  services: Services,
  options: AccessOptions,
  key: ObjectKey,
  { signal, log }: Pick<ReconcileContext, 'signal' | 'log'>,
): Promise<Result> {
  const found = services.stores.accessRequests.get(key);
  if (!found) return {};
  if (isForNamesake(services, found)) {
    // Only an instance that holds the Cluster can have granted anything in it.
    await dropFinalizer(services.kube, AccessRequest, found, finalizersOf(services).accessRequest, signal);
    return {};
  }
  if (!isResponsible(found, services.provider)) {
    if (!hasLeft(found, services)) return tellOfUnanswered(services, found, log);
    return await letGo({ services, request: found, identity: identityOf(services, options, found), signal, log });
  }
  const { operation, object: request } = await takeOperation(services.kube, AccessRequest, found, signal);
  if (operation === 'ignore') return {};
  const identity = identityOf(services, options, request);
  if (request.metadata.deletionTimestamp) return await withdraw({ services, request, identity, signal, log });
  const held = await ensureFinalizer(
    services.kube,
    AccessRequest,
    request,
    finalizersOf(services).accessRequest,
    signal,
  );
  if (!held) return {};
  const task = { services, request: held, identity, signal, log };
  const outcome = await grant(task, operation === 'reconcile');
  await report(task, outcome);
  return { againInSeconds: outcome.againInSeconds };
}

function identityOf(services: Services, options: AccessOptions, { metadata }: AccessRequest): AccessIdentity {
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid ?? '' };
  return {
    id: accessId(services.environment, services.provider, ref),
    provider: services.provider,
    accountNamespace: options.accountNamespace,
    request: ref,
  };
}

/**
 * Granted when everything is there. A request that is granted stays so while its token is good, even when the cluster
 * cannot be reached for a while: the conditions say what is wrong. One whose Cluster does not exist is not granted.
 */
async function report({ services, request, signal }: Task, outcome: Outcome): Promise<void> {
  const generation = request.metadata.generation ?? 0;
  const ready = summarize(outcome.states);
  const isGranted = ready.status === 'True' || (isAway(outcome) && stillGood(services, request));
  const name = outcome.secretName ?? (outcome.secretRemoved ? undefined : presentSecretName(services, request));
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: isGranted ? phases.granted : phases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [...outcome.states, ready], {
      generation,
      now: services.clock.now(),
      ...(request.spec.oidc ? {} : { drop: ['TrustReady'] as const }),
    }),
    ...(name ? { secretRef: { name } } : {}),
  };
  // The operator sets the phase back when the spec changes. Written over that, `Granted` would keep both away for ever.
  await writeStatus(services.kube, AccessRequest, request, status, signal, { locked: true });
}

/** Whether the cluster exists, as far as is known, and only cannot be reached. */
const isAway = ({ states }: Outcome): boolean =>
  states.some(
    ({ type, status, reason }) =>
      type === 'ClusterReady' && status !== 'True' && reason !== 'ClusterMissing' && reason !== 'InvalidReference',
  );

/** The Secret is named as long as it exists, whether or not it can be granted anew. */
function presentSecretName({ stores }: Services, request: AccessRequest): string | undefined {
  const { namespace = '', name } = request.metadata;
  const secret = stores.accessSecrets.get({ namespace, name: accessSecretName({ namespace, name }) });
  return secret && isOwnedBy(secret, request) ? secret.metadata.name : undefined;
}

function stillGood(services: Services, request: AccessRequest): boolean {
  if (request.status?.phase !== phases.granted || request.status.observedGeneration !== request.metadata.generation)
    return false;
  const name = request.status.secretRef?.name;
  const secret = name ? services.stores.accessSecrets.get({ namespace: request.metadata.namespace, name }) : undefined;
  return isUsable(secret, services.clock.now());
}
