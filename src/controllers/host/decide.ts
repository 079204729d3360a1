import type { ConditionReason } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import { hostStatusOf, permanentErrorOf } from './availability.ts';
import { type HostSnapshot, type HostTaskKind, hostTaskKinds, isTaskRequested, type TaskRejection } from './view.ts';

/** The next action for a Host. `settled`: nothing more can be done now, and the status is written. */
export type HostDecision =
  | { readonly kind: 'let-go' }
  | { readonly kind: 'free' }
  | { readonly kind: 'release-address' }
  | { readonly kind: 'mark'; readonly message: string }
  | { readonly kind: 'identify' }
  | { readonly kind: 'walk'; readonly plan: HostTaskKind }
  | ({ readonly kind: 'refuse' } & TaskRejection)
  | { readonly kind: 'settled' };

/** Decides from the snapshot alone. Executing the decision yields a snapshot in which it is done. */
export function decideHost(snapshot: HostSnapshot): HostDecision {
  const { host, holder, providerConfig: owner } = snapshot;
  // The deletion of a Host whose Machine is gone is the user's decision about its data.
  if (host.metadata.deletionTimestamp && holder.kind !== 'machine') return { kind: 'let-go' };
  if (holder.kind === 'gone') return decideMissingHolder(snapshot, holder.name);
  if (snapshot.isSurplus) return { kind: 'free' };
  // Its user says that the server does not run the former node any more.
  const keepsAddress = host.metadata.annotations?.[annotations.retainedAddress] !== undefined;
  if (keepsAddress && permanentErrorOf(host) === undefined) return { kind: 'release-address' };
  if (!owner || snapshot.identification) return { kind: 'settled' };
  if (!snapshot.identity) return { kind: 'identify' };
  return decideTask(snapshot);
}

/** A claim without any write to the server is released. Any other missing holder needs a user's decision. */
function decideMissingHolder({ host }: HostSnapshot, machine: string): HostDecision {
  const { state, conditions } = hostStatusOf(host);
  if (state === 'Claimed') return { kind: 'free' };
  if (permanentErrorOf(host) !== undefined) return { kind: 'settled' };
  const wasReported = conditions.some(({ type, reason }) => type === 'Usable' && reason === 'MachineGone');
  return wasReported ? { kind: 'free' } : { kind: 'mark', message: describeMissingHolder(machine) };
}

const describeMissingHolder = (machine: string): string =>
  `Machine ${machine} does not exist any more and has not let this Host go: the server may still run, and its disks hold what was written for it. See to it that nobody needs it, then remove this annotation: the server is free again from then on.`;

function decideTask(snapshot: HostSnapshot): HostDecision {
  const { task } = hostStatusOf(snapshot.host);
  if (task)
    return snapshot.identity && 'notIdentified' in snapshot.identity
      ? { kind: 'settled' }
      : { kind: 'walk', plan: task.plan };
  for (const plan of hostTaskKinds) {
    if (!isTaskRequested(snapshot.host, plan)) continue;
    const assessment = assessTask(snapshot, plan);
    if (assessment.kind === 'go') return { kind: 'walk', plan };
    if (assessment.kind === 'refused') return { ...assessment, kind: 'refuse', plan };
  }
  return { kind: 'settled' };
}

type TaskAssessment =
  | { readonly kind: 'go' }
  | { readonly kind: 'waits'; readonly reason: ConditionReason; readonly message: string }
  | { readonly kind: 'refused'; readonly reason: ConditionReason; readonly message: string };

/** Whether a requested task can begin. */
export function assessTask(snapshot: HostSnapshot, plan: HostTaskKind): TaskAssessment {
  const { identity, duplicate } = snapshot;
  if (!identity) return { kind: 'waits', reason: 'NotUsed', message: 'No ProviderConfig uses this Host.' };
  if ('notIdentified' in identity) return { kind: 'waits', reason: identity.reason, message: identity.notIdentified };
  if ('refused' in identity) return { kind: 'refused', reason: 'NotIdentified', message: identity.refused };
  if (duplicate !== undefined)
    return { kind: 'refused', reason: 'SameServer', message: describeDuplicateHost(duplicate) };
  return plan === 'inspect' ? assessInspection(snapshot) : assessReboot(snapshot);
}

export const describeDuplicateHost = (otherHost: string): string =>
  `spec.serverID: Host ${otherHost} is for the same server. Delete one of them.`;

/** An inspection interrupts everything that runs on the server. */
function assessInspection({ host, holder }: HostSnapshot): TaskAssessment {
  if (holder.kind === 'machine') {
    const message = `Machine ${holder.machine.metadata.name} holds this Host. Ask again when it has let it go.`;
    return { kind: 'refused', reason: 'InUse', message };
  }
  const error = permanentErrorOf(host);
  return error === undefined ? { kind: 'go' } : { kind: 'refused', reason: 'PermanentError', message: error };
}

/** A reboot must not interrupt the steps of a Machine. */
function assessReboot({ host, holder }: HostSnapshot): TaskAssessment {
  if (holder.kind !== 'machine') return { kind: 'go' };
  const { metadata, status } = holder.machine;
  if (metadata.deletionTimestamp || hostStatusOf(host).state === 'Deprovisioning') {
    return { kind: 'refused', reason: 'Releasing', message: `Machine ${metadata.name} is being taken down.` };
  }
  if (status?.progress?.plan === 'provision' && status.progress.finishedAt) return { kind: 'go' };
  const message = `Machine ${metadata.name} is being made. The server is rebooted when that is done.`;
  return { kind: 'waits', reason: 'WaitingForMachines', message };
}
