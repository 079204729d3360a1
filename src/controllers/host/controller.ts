import { Host } from '../../api/host.ts';
import { finalizers } from '../../api/names.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { consumeOperation, ensureFinalizer, patchStatusIfExists } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { actOnHost } from './act.ts';
import { hostStatusOf } from './availability.ts';
import { decideHost } from './decide.ts';
import { describeHostStatus, describeTaskProgress, remainingTask } from './describe.ts';
import { recordHostEvents } from './events.ts';
import type { HostReconcileContext } from './inventory-access.ts';
import { buildHostSnapshot, type HostSnapshot, hostTaskKinds, isTaskRequested } from './view.ts';

/** Interval of the identity check of an idle server. */
const idleSeconds = 600;
/** Interval while the server cannot be identified or a condition is awaited. */
const waitingSeconds = 60;

/**
 * Writes the status of a Host and runs the tasks that annotations request. Machines claim and release the Host by
 * themselves.
 */
export async function reconcileHost(
  services: Services,
  key: ObjectKey,
  context: HostReconcileContext,
): Promise<ReconcileResult> {
  const seen = services.stores.hosts.get(key);
  // The record of a task must never be older than our own last write.
  const found = seen && !isIdle(seen) ? await services.kube.find(Host, key, context.signal) : seen;
  if (!found) return {};
  const snapshot = await buildHostSnapshot(services, found, context.signal);
  if (!snapshot) return {};
  const { operation, object: host } = await consumeOperation(services.kube, Host, found, context.signal);
  if (operation === 'ignore') return {};
  const held = await ensureHostFinalizer(services, { ...snapshot, host }, context);
  return held ? await runDecisions(services, held, context) : {};
}

const isIdle = (host: Host): boolean =>
  !host.metadata.deletionTimestamp &&
  !hostStatusOf(host).task &&
  !hostTaskKinds.some((plan) => isTaskRequested(host, plan));

async function ensureHostFinalizer(
  { kube }: Services,
  snapshot: HostSnapshot,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  const { host, providerConfig: owner } = snapshot;
  if (host.metadata.deletionTimestamp || !owner) return snapshot;
  const held = await ensureFinalizer(kube, Host, host, finalizers.host, signal);
  return held && { ...snapshot, host: held };
}

/** Executes decisions until nothing more can be done now, then returns the snapshot for the status. */
async function runDecisions(
  services: Services,
  first: HostSnapshot,
  context: HostReconcileContext,
): Promise<ReconcileResult> {
  let snapshot = first;
  for (let decision = decideHost(snapshot); decision.kind !== 'settled'; decision = decideHost(snapshot)) {
    const next = await actOnHost(services, snapshot, decision, context);
    if (!next) return {};
    snapshot = next;
  }
  const { host } = snapshot;
  const status = describeHostStatus(snapshot, services.clock.now());
  const changed = await patchStatusIfExists(services.kube, Host, host, status, context.signal, { locked: true });
  if (changed) recordHostEvents(services.events, host, status);
  recordTaskEnd(services, snapshot);
  return { requeueAfterSeconds: requeueAfterSeconds(snapshot) };
}

function recordTaskEnd({ events }: Services, snapshot: HostSnapshot): void {
  const { host, identification } = snapshot;
  if (!identification || remainingTask(snapshot)) return;
  const [done, failed] =
    identification.progress.plan === 'inspect' ? ['Inspected', 'InspectFailed'] : ['Rebooted', 'RebootFailed'];
  if (identification.kind === 'finished') events.record(host, 'Normal', done, 'It was done as asked for.');
  else events.record(host, 'Warning', failed, describeTaskProgress(snapshot));
}

function requeueAfterSeconds(snapshot: HostSnapshot): number {
  const { host, identity, identification } = snapshot;
  if (identification && identification.kind !== 'finished' && remainingTask(snapshot)) return identification.seconds;
  const waits = (identity && 'notIdentified' in identity) || hostTaskKinds.some((plan) => isTaskRequested(host, plan));
  return waits ? waitingSeconds : idleSeconds;
}
