import { Host, type HostStatus } from '../../api/host.ts';
import { annotations, finalizers } from '../../api/names.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { patchStatus, removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { hostStatusOf } from './availability.ts';
import type { HostDecision } from './decide.ts';
import { findInventoryAccess, type HostReconcileContext, identifyServer } from './inventory-access.ts';
import { removeTaskAnnotation, runTaskSteps } from './run-task-steps.ts';
import type { HostSnapshot, HostTaskKind, TaskRejection } from './view.ts';

/** Executes the decision. Undefined: the Host is gone. */
export async function actOnHost(
  services: Services,
  sight: HostSnapshot,
  decision: Exclude<HostDecision, { kind: 'settled' }>,
  run: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  switch (decision.kind) {
    case 'let-go':
      await removeFinalizer(services.kube, Host, sight.host, finalizers.host, run.signal);
      return undefined;
    case 'free':
      return await freeHost(services, sight, run);
    case 'mark':
      return await markPermanentError(services, sight, decision.message, run);
    case 'identify':
      return sight.keeper && { ...sight, identity: await identifyServer(services, sight, sight.keeper, run) };
    case 'walk':
      return await runTask(services, sight, decision.plan, run);
    case 'refuse':
      return await rejectTask(services, sight, decision, run);
  }
}

/** Releases a Host without a holder. Its server is identified before the Host becomes available. */
async function freeHost(
  services: Services,
  sight: HostSnapshot,
  { signal, log }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { host } = sight;
  const { machineRef, task: _, ...rest } = hostStatusOf(host);
  const status: HostStatus = { ...rest, state: 'Pending' };
  const written = await patchStatus(services.kube, Host, host, status, signal, { locked: true });
  log.info({ machine: machineRef?.name }, 'the host was taken from a machine that does not use it');
  return { ...sight, host: written ?? host, holder: { kind: 'none' }, isSurplus: false };
}

/** Conditional on the Host as it was read: another Machine may hold it by now. */
async function markPermanentError(
  services: Services,
  sight: HostSnapshot,
  message: string,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { resourceVersion } = sight.host.metadata;
  const patch = { metadata: { annotations: { [annotations.permanentError]: message } } };
  const lock = resourceVersion ? { resourceVersion } : {};
  return { ...sight, host: await services.kube.merge(Host, objectKeyOf(sight.host), patch, lock, signal) };
}

async function runTask(
  services: Services,
  sight: HostSnapshot,
  plan: HostTaskKind,
  run: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  if (!sight.keeper) return undefined;
  const asker = findInventoryAccess(services, sight.keeper);
  if ('missing' in asker) throw new ProviderError('CREDENTIALS_MISSING', asker.missing);
  return await runTaskSteps(services, sight, plan, asker, run);
}

async function rejectTask(
  services: Services,
  sight: HostSnapshot,
  refusal: TaskRejection,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { plan, message } = refusal;
  const host = await removeTaskAnnotation(services, sight.host, plan, signal);
  services.events.record(host, 'Warning', plan === 'inspect' ? 'InspectRefused' : 'RebootRefused', message);
  return { ...sight, host, refusal };
}
