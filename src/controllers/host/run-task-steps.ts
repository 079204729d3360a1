import { Host, type HostStatus } from '../../api/host.ts';
import { annotations } from '../../api/names.ts';
import { advance, type Progress } from '../../engine/advance.ts';
import type { HostContext } from '../../engine/capabilities/hosts.ts';
import { isServerCondition } from '../../kube/errors.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { patchStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { logStepError, logStepRecovery } from '../shared/step-log.ts';
import { hostStatusOf, toStatusFields } from './availability.ts';
import { recordHostEvents } from './events.ts';
import { type HostReconcileContext, type InventoryAccess, toHostContext } from './inventory-access.ts';
import { type HostSnapshot, type HostTaskKind, isTaskRequested } from './view.ts';

/**
 * Runs the steps of a requested task. Its start is recorded in the status before the first step, conditional on the
 * Host as it was read: a concurrent claim wins, and a Host with a task cannot be claimed.
 */
export async function runTaskSteps(
  services: Services,
  snapshot: HostSnapshot,
  plan: HostTaskKind,
  access: InventoryAccess,
  run: HostReconcileContext,
): Promise<HostSnapshot> {
  const writer = new HostWriter(services, snapshot.host, run.signal);
  const { platform, inventory } = access.providerConfig;
  // Steps read the server data of the provider from the status and add to it.
  if (snapshot.identity && 'server' in snapshot.identity) await writer.write({ server: snapshot.identity.server });
  const [steps, progress] = [inventory[plan], savedTaskProgress(snapshot.host)];
  // An earlier process may have ended before it could.
  if (progress && servesRequests(progress, steps)) await writer.clearAnnotation(plan);
  const verdict = await advance<HostContext, HostTaskKind>({
    ...{ plan, steps, progress },
    context: (facts) => ({
      ...toHostContext(services, access, writer.host, run),
      facts,
      updateStatus: ({ state: _, ...found }) => writer.write(toStatusFields(writer.host, found)),
    }),
    save: async (progress) => {
      logStepRecovery(run.log, hostStatusOf(writer.host).task, progress);
      await writer.write({ task: { ...progress, facts: { ...progress.facts } } });
      if (servesRequests(progress, steps)) await writer.clearAnnotation(plan);
    },
    observer: (step, end, seconds) => services.observer.step({ platform: platform.name, plan, step }, end, seconds),
    // Facts are written to the same object as the record.
    concernsRecord: isServerCondition,
    clock: services.clock,
    signal: run.signal,
  });
  if (verdict.kind === 'error') logStepError(run.log, verdict.error, verdict.progress);
  return { ...snapshot, host: writer.host, identification: verdict };
}

/**
 * Whether the task does what is requested now: not any more in its last step, which only ends it. So a user who has changed
 * something meanwhile gets another one.
 */
const servesRequests = ({ step }: Progress<HostTaskKind>, steps: readonly { readonly name: string }[]): boolean =>
  step !== '' && (steps.length === 1 || step !== steps.at(-1)?.name);

function savedTaskProgress(host: Host): Progress<HostTaskKind> | undefined {
  const { task } = hostStatusOf(host);
  // Only this provider writes facts, and their values are strings, numbers and booleans.
  return task && ({ ...task } as Progress<HostTaskKind>);
}

/** Holds the Host and updates it in memory with each write. */
class HostWriter {
  readonly #services: Services;
  readonly #signal: AbortSignal;
  host: Host;

  constructor(services: Services, host: Host, signal: AbortSignal) {
    this.#services = services;
    this.#signal = signal;
    this.host = host;
  }

  /** Throws a conflict if the Host has changed since it was read. */
  async write(change: Partial<HostStatus>): Promise<void> {
    const status: HostStatus = { ...hostStatusOf(this.host), ...change };
    const { kube, events } = this.#services;
    const written = await patchStatus(kube, Host, this.host, status, this.#signal, { locked: true });
    recordHostEvents(events, this.host, status);
    this.host = written ?? this.host;
  }

  /** Removes the annotation that requested the task, once it has begun. */
  async clearAnnotation(plan: HostTaskKind): Promise<void> {
    if (!isTaskRequested(this.host, plan)) return;
    this.host = await removeTaskAnnotation(this.#services, this.host, plan, this.#signal);
  }
}

export async function removeTaskAnnotation(
  { kube }: Services,
  host: Host,
  plan: HostTaskKind,
  signal: AbortSignal,
): Promise<Host> {
  const patch = { metadata: { annotations: { [annotations[plan]]: null } } };
  return await kube.merge(Host, objectKeyOf(host), patch, {}, signal);
}
