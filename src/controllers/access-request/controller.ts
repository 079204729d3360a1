import { mergeConditions, summarizeReady } from '../../api/conditions.ts';
import { accessRequestId, accessSecretName, instanceFinalizers } from '../../api/names.ts';
import { AccessRequest, openmcpPhases } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { consumeOperation, ensureFinalizer, patchStatusIfExists, removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import type { AccessRequestContext } from './access-request-context.ts';
import { isAccessUsable, isSecretOwnedBy } from './access-secret.ts';
import { grantAccess } from './grant-access.ts';
import type { GrantOutcome } from './grant-outcome.ts';
import { reportUnansweredRequest } from './report-unanswered-request.ts';
import { isForOtherInstance, isNoLongerResponsible, isResponsible } from './responsibility.ts';
import { revokeAccessRequest, revokeForeignAccessRequest } from './revoke-access-request.ts';
import type { AccessIdentity } from './target-cluster/desired-access.ts';

export interface AccessOptions {
  readonly accountNamespace: string;
}

/** Grants access exactly as requested, renews it in time and revokes it completely. */
export async function reconcileAccessRequest(
  services: Services,
  options: AccessOptions,
  key: ObjectKey,
  { signal, log }: Pick<ReconcileContext, 'signal' | 'log'>,
): Promise<ReconcileResult> {
  const found = services.stores.accessRequests.get(key);
  if (!found) return {};
  if (isForOtherInstance(services, found)) {
    // Only the instance with its finalizer on the Cluster can have granted access in it.
    await removeFinalizer(services.kube, AccessRequest, found, instanceFinalizers(services).accessRequest, signal);
    return {};
  }
  if (!isResponsible(found, services.provider)) {
    if (!isNoLongerResponsible(found, services)) return reportUnansweredRequest(services, found, log);
    return await revokeForeignAccessRequest({
      services,
      request: found,
      identity: accessIdentityOf(services, options, found),
      signal,
      log,
    });
  }
  const { operation, object: request } = await consumeOperation(services.kube, AccessRequest, found, signal);
  if (operation === 'ignore') return {};
  const identity = accessIdentityOf(services, options, request);
  if (request.metadata.deletionTimestamp)
    return await revokeAccessRequest({ services, request, identity, signal, log });
  const held = await ensureFinalizer(
    services.kube,
    AccessRequest,
    request,
    instanceFinalizers(services).accessRequest,
    signal,
  );
  if (!held) return {};
  const task = { services, request: held, identity, signal, log };
  const outcome = await grantAccess(task, operation === 'reconcile');
  await reportStatus(task, outcome);
  return { requeueAfterSeconds: outcome.requeueAfterSeconds };
}

function accessIdentityOf(services: Services, options: AccessOptions, { metadata }: AccessRequest): AccessIdentity {
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid ?? '' };
  return {
    id: accessRequestId(services.environment, services.provider, ref),
    provider: services.provider,
    accountNamespace: options.accountNamespace,
    request: ref,
  };
}

/**
 * Reports Granted once everything is in place. A granted request stays Granted while its token is valid, even if the
 * cluster is temporarily unreachable: the conditions show the problem. A request whose Cluster does not exist is not
 * Granted.
 */
async function reportStatus({ services, request, signal }: AccessRequestContext, outcome: GrantOutcome): Promise<void> {
  const generation = request.metadata.generation ?? 0;
  const ready = summarizeReady(outcome.states);
  const isGranted = ready.status === 'True' || (isClusterUnreachable(outcome) && isGrantStillUsable(services, request));
  const name = outcome.secretName ?? (outcome.secretRemoved ? undefined : existingSecretName(services, request));
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: isGranted ? openmcpPhases.granted : openmcpPhases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [...outcome.states, ready], {
      generation,
      now: services.clock.now(),
      ...(request.spec.oidc ? {} : { drop: ['TrustReady'] as const }),
    }),
    ...(name ? { secretRef: { name } } : {}),
  };
  // The operator resets the phase when the spec changes. If our `Granted` replaced its value, operator and provider
  // would both ignore the request from then on.
  await patchStatusIfExists(services.kube, AccessRequest, request, status, signal, { locked: true });
}

/** Whether the cluster exists, as far as is known, and is only unreachable. */
const isClusterUnreachable = ({ states }: GrantOutcome): boolean =>
  states.some(
    ({ type, status, reason }) =>
      type === 'ClusterReady' && status !== 'True' && reason !== 'ClusterMissing' && reason !== 'InvalidReference',
  );

/** The status names the Secret as long as it exists, even if it cannot be renewed. */
function existingSecretName({ stores }: Services, request: AccessRequest): string | undefined {
  const { namespace = '', name } = request.metadata;
  const secret = stores.accessSecrets.get({ namespace, name: accessSecretName({ namespace, name }) });
  return secret && isSecretOwnedBy(secret, request) ? secret.metadata.name : undefined;
}

function isGrantStillUsable(services: Services, request: AccessRequest): boolean {
  if (
    request.status?.phase !== openmcpPhases.granted ||
    request.status.observedGeneration !== request.metadata.generation
  )
    return false;
  const name = request.status.secretRef?.name;
  const secret = name ? services.stores.accessSecrets.get({ namespace: request.metadata.namespace, name }) : undefined;
  return isAccessUsable(secret, services.clock.now());
}
