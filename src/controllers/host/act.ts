import { Host, type HostStatus } from '../../api/host.ts';
import { annotations, finalizers } from '../../api/names.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
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
  snapshot: HostSnapshot,
  decision: Exclude<HostDecision, { kind: 'settled' }>,
  run: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  switch (decision.kind) {
    case 'let-go':
      await services.addresses.release(addressHolder.host(snapshot.host.metadata.name), run.signal);
      await removeFinalizer(services.kube, Host, snapshot.host, finalizers.host, run.signal);
      return undefined;
    case 'free':
      return await freeHost(services, snapshot, run);
    case 'release-address':
      return await releaseRetainedAddress(services, snapshot, run);
    case 'mark':
      return await markPermanentError(services, snapshot, decision.message, run);
    case 'identify':
      return (
        snapshot.providerConfig && {
          ...snapshot,
          identity: await identifyServer(services, snapshot, snapshot.providerConfig, run),
        }
      );
    case 'walk':
      return await runTask(services, snapshot, decision.plan, run);
    case 'refuse':
      return await rejectTask(services, snapshot, decision, run);
  }
}

/** Releases a Host without a holder. Its server is identified before the Host becomes available. */
async function freeHost(
  services: Services,
  snapshot: HostSnapshot,
  { signal, log }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { host } = snapshot;
  const { machineRef, task: _, ...rest } = hostStatusOf(host);
  const status: HostStatus = { ...rest, state: 'Pending' };
  const written = await patchStatus(services.kube, Host, host, status, signal, { locked: true });
  log.info({ machine: machineRef?.name }, 'the host was taken from a machine that does not use it');
  return { ...snapshot, host: written ?? host, holder: { kind: 'none' }, isSurplus: false };
}

async function releaseRetainedAddress(
  { kube, addresses }: Services,
  snapshot: HostSnapshot,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { name } = snapshot.host.metadata;
  await addresses.release(addressHolder.host(name), signal);
  const patch = { metadata: { annotations: { [annotations.retainedAddress]: null } } };
  return { ...snapshot, host: await kube.merge(Host, { name }, patch, {}, signal) };
}

/** Conditional on the Host as it was read: another Machine may hold it by now. */
async function markPermanentError(
  services: Services,
  snapshot: HostSnapshot,
  message: string,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { resourceVersion } = snapshot.host.metadata;
  const patch = { metadata: { annotations: { [annotations.permanentError]: message } } };
  const lock = resourceVersion ? { resourceVersion } : {};
  return { ...snapshot, host: await services.kube.merge(Host, objectKeyOf(snapshot.host), patch, lock, signal) };
}

async function runTask(
  services: Services,
  snapshot: HostSnapshot,
  plan: HostTaskKind,
  run: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  if (!snapshot.providerConfig) return undefined;
  const access = findInventoryAccess(services, snapshot.providerConfig);
  if ('missing' in access) throw new ProviderError('CREDENTIALS_MISSING', access.missing);
  return await runTaskSteps(services, snapshot, plan, access, run);
}

async function rejectTask(
  services: Services,
  snapshot: HostSnapshot,
  rejection: TaskRejection,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot> {
  const { plan, message } = rejection;
  const host = await removeTaskAnnotation(services, snapshot.host, plan, signal);
  services.events.record(host, 'Warning', plan === 'inspect' ? 'InspectRejected' : 'RebootRejected', message);
  return { ...snapshot, host, rejectionReason: rejection };
}
