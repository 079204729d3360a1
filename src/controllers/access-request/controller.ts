import { mergeConditions, summarize } from '../../api/conditions.ts';
import { accessId, finalizers } from '../../api/names.ts';
import { AccessRequest, phases } from '../../api/openmcp.ts';
import type { ReconcileContext, Result } from '../../kube/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ensureFinalizer, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { isUsable } from './access-secret.ts';
import type { AccessIdentity } from './describe.ts';
import { grant } from './grant.ts';
import type { Outcome } from './outcome.ts';
import { hasLeft, isResponsible } from './responsible.ts';
import type { Task } from './task.ts';
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
  const request = services.stores.accessRequests.get(key);
  if (!request) return {};
  if (!isResponsible(request, services.provider)) {
    if (!hasLeft(request, services.provider)) return {};
    return await letGo({ services, request, identity: identityOf(services, options, request), signal, log });
  }
  const operation = await takeOperation(services.kube, AccessRequest, request, signal);
  if (operation === 'ignore') return {};
  const identity = identityOf(services, options, request);
  if (request.metadata.deletionTimestamp) return await withdraw({ services, request, identity, signal, log });
  const held = await ensureFinalizer(services.kube, AccessRequest, request, finalizers.accessRequest, signal);
  if (!held) return {};
  const task = { services, request: held, identity, signal, log };
  const outcome = await grant(task, operation === 'reconcile');
  await report(task, outcome);
  return { againInSeconds: outcome.againInSeconds };
}

function identityOf(services: Services, options: AccessOptions, { metadata }: AccessRequest): AccessIdentity {
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name };
  return {
    id: accessId(services.environment, services.provider, ref),
    provider: services.provider,
    accountNamespace: options.accountNamespace,
    request: ref,
  };
}

/**
 * Granted when everything is there. A request that is granted stays so while its token is good, even when the cluster
 * cannot be reached for a while: the conditions say what is wrong.
 */
async function report({ services, request, signal }: Task, outcome: Outcome): Promise<void> {
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
      ...(request.spec.oidc ? {} : { drop: ['TrustReady'] as const }),
    }),
    ...(name ? { secretRef: { name } } : {}),
  };
  // The operator sets the phase back when the spec changes. Written over that, `Granted` would keep both away for ever.
  await writeStatus(services.kube, AccessRequest, request, status, signal, { locked: true });
}

function stillGood(services: Services, request: AccessRequest): boolean {
  if (request.status?.phase !== phases.granted || request.status.observedGeneration !== request.metadata.generation)
    return false;
  const name = request.status.secretRef?.name;
  const secret = name ? services.stores.accessSecrets.get({ namespace: request.metadata.namespace, name }) : undefined;
  return isUsable(secret, services.clock.now());
}
