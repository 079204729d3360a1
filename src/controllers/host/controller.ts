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
  const sight = await buildHostSnapshot(services, found, context.signal);
  if (!sight) return {};
  const { operation, object: host } = await consumeOperation(services.kube, Host, found, context.signal);
  if (operation === 'ignore') return {};
  const held = await ensureHostFinalizer(services, { ...sight, host }, context);
  return held ? await runDecisions(services, held, context) : {};
}

const isIdle = (host: Host): boolean =>
  !host.metadata.deletionTimestamp &&
  !hostStatusOf(host).task &&
  !hostTaskKinds.some((plan) => isTaskRequested(host, plan));

async function ensureHostFinalizer(
  { kube }: Services,
  sight: HostSnapshot,
  { signal }: HostReconcileContext,
): Promise<HostSnapshot | undefined> {
  const { host, keeper } = sight;
  if (host.metadata.deletionTimestamp || !keeper) return sight;
  const held = await ensureFinalizer(kube, Host, host, finalizers.host, signal);
  return held && { ...sight, host: held };
}

/** Executes decisions until nothing more can be done now, then returns the snapshot for the status. */
async function runDecisions(
  services: Services,
  first: HostSnapshot,
  context: HostReconcileContext,
): Promise<ReconcileResult> {
  let sight = first;
  for (let decision = decideHost(sight); decision.kind !== 'settled'; decision = decideHost(sight)) {
    const next = await actOnHost(services, sight, decision, context);
    if (!next) return {};
    sight = next;
  }
  const { host } = sight;
  const status = describeHostStatus(sight, services.clock.now());
  const changed = await patchStatusIfExists(services.kube, Host, host, status, context.signal, { locked: true });
  if (changed) recordHostEvents(services.events, host, status);
  recordTaskEnd(services, sight);
  return { againInSeconds: requeueAfterSeconds(sight) };
}

function recordTaskEnd({ events }: Services, sight: HostSnapshot): void {
  const { host, verdict } = sight;
  if (!verdict || remainingTask(sight)) return;
  const [done, failed] =
    verdict.progress.plan === 'inspect' ? ['Inspected', 'InspectFailed'] : ['Rebooted', 'RebootFailed'];
  if (verdict.kind === 'finished') events.record(host, 'Normal', done, 'It was done as asked for.');
  else events.record(host, 'Warning', failed, describeTaskProgress(sight));
}

function requeueAfterSeconds(sight: HostSnapshot): number {
  const { host, identity, verdict } = sight;
  if (verdict && verdict.kind !== 'finished' && remainingTask(sight)) return verdict.seconds;
  const waits = (identity && 'unasked' in identity) || hostTaskKinds.some((plan) => isTaskRequested(host, plan));
  return waits ? waitingSeconds : idleSeconds;
}
