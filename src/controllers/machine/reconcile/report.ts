import { findFalseCondition, isUpdateFailure, toStepReason } from '../../../api/conditions.ts';
import { Machine, type MachineStatus } from '../../../api/machine.ts';
import { finalizers } from '../../../api/names.ts';
import type { AdvanceResult, Progress } from '../../../engine/advance.ts';
import type { Facts } from '../../../engine/step.ts';
import type { ReconcileResult } from '../../../kube/controller/controller.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { patchStatusIfExists, removeFinalizer } from '../../shared/objects.ts';
import { logStepError } from '../../shared/step-log.ts';
import { abandonMachine } from '../abandon-machine.ts';
import { describeMachineProgress, describeMachineStatus } from '../describe.ts';
import { isMaintenancePlan } from '../is-provisioned.ts';
import { recordPhaseChange, recordRepairs, recordUpdateFailure } from '../machine-events.ts';
import type { MachineObservation } from '../observe-machine.ts';
import { asProvisioned, concludeRepair } from '../repair/conclude-repair.ts';
import type { DesiredMachine } from './desired.ts';
import type { MachineTask } from './machine-task.ts';
import type { ObservedMachine } from './observed.ts';
import type { MachineEnd } from './plan.ts';

/** Retry interval while a prerequisite is missing that only a user can provide. */
const blockedRetrySeconds = 60;

/** Maximum retry interval of an update, which holds up the other Machines of its cluster. */
const updateRetrySeconds = 45;

/** Writes status, Events and finalizer, and says when the Machine is due again. */
export async function reportMachine(
  desired: DesiredMachine,
  observed: ObservedMachine,
  end: MachineEnd,
): Promise<ReconcileResult> {
  const { services, machine, context, goal } = desired;
  switch (end.kind) {
    case 'blocked':
      return await reportBlocked(desired, goal, end.problem);
    case 'unfinished':
      await reportStatus(desired, { verdict: end.result, observation: observed.observation });
      return { requeueAfterSeconds: end.result.seconds };
    case 'provisioned':
      return await reportProvisioned(desired, observed, end);
    case 'released':
      return await finishRelease(desired, end.progress.facts);
    case 'abandoned':
      return await abandonMachine(services, machine, context.signal);
  }
}

/** Reports in the status why no step can run, and retries. */
async function reportBlocked(
  { services, machine, context }: MachineTask,
  plan: Progress['plan'],
  { code, message }: ProviderError,
): Promise<ReconcileResult> {
  const { progress: saved } = machine.status ?? {};
  const none = { plan, step: '', since: services.clock.now().toISOString(), failures: 0, facts: {} };
  const progress = { ...none, ...saved, plan } as Progress;
  const verdict: AdvanceResult = { kind: 'failed', progress, seconds: blockedRetrySeconds, reason: code, message };
  const status = describeMachineStatus(machine, verdict, undefined, services.clock.now());
  // The record is unchanged, because no step has run.
  const { progress: _, ...rest } = status;
  const reported = saved ? { ...rest, progress: saved } : rest;
  await patchStatusIfExists(services.kube, Machine, machine, reported, context.signal, { locked: true });
  return { requeueAfterSeconds: verdict.seconds };
}

async function reportProvisioned(
  desired: DesiredMachine,
  { approvals, walk }: ObservedMachine,
  { progress, observation }: Extract<MachineEnd, { kind: 'provisioned' }>,
): Promise<ReconcileResult> {
  const { services, machine, context, environment } = desired;
  if (environment instanceof ProviderError) {
    const verdict: AdvanceResult = { kind: 'finished', progress: asProvisioned(progress, services.clock.now()) };
    await reportStatus(desired, { verdict, observation });
    return { requeueAfterSeconds: blockedRetrySeconds };
  }
  const maintenance = isMaintenancePlan(walk?.plan) ? walk : undefined;
  const repair = walk?.plan === 'repair' ? walk : undefined;
  // While steps run, the status shows their progress.
  const before = maintenance ? maintenance.phaseBefore : machine.status?.phase;
  if (walk?.plan === 'update' && walk.result.kind !== 'finished') {
    await reportStatus(desired, { verdict: walk.result, observation, before });
    return { requeueAfterSeconds: Math.min(walk.result.seconds, updateRetrySeconds) };
  }
  const concluded = await concludeRepair(
    { services, machine, signal: context.signal, monitor: (fingerprint) => context.monitor.add(machine, fingerprint) },
    { progress, observation, approvals, repair: repair?.result },
  );
  recordRepairs(services, machine, repair?.startedFor ?? [], context.log);
  await reportStatus(desired, { ...concluded, before });
  return { requeueAfterSeconds: concluded.seconds };
}

async function finishRelease(
  { services, machine, context: { signal } }: MachineTask,
  facts: Facts,
): Promise<ReconcileResult> {
  const isDown = typeof facts['approved'] !== 'string';
  if (isDown) services.events.record(machine, 'Normal', 'Released', 'The machine was deleted.');
  // The steps have written the status, so the finalizer must be removed from the current version.
  const current = await services.kube.find(Machine, { name: machine.metadata.name }, signal);
  if (current) await removeFinalizer(services.kube, Machine, current, finalizers.machine, signal);
  return {};
}

interface StatusReport {
  readonly verdict: AdvanceResult;
  readonly observation: MachineObservation | undefined;
  /** The phase before this reconcile; by default that of the object. */
  readonly before?: string | undefined;
}

async function reportStatus(task: MachineTask, { verdict, observation, ...report }: StatusReport): Promise<void> {
  const { services, machine, context } = task;
  const before = 'before' in report ? report.before : machine.status?.phase;
  const status = describeMachineStatus(machine, verdict, observation, services.clock.now());
  const changed = await patchStatusIfExists(services.kube, Machine, machine, status, context.signal, { locked: true });
  if (verdict.kind === 'error') logStepError(context.log, verdict.error, verdict.progress);
  reportUpdateFailure(task, status);
  if (!changed || before === status.phase) return;
  if (status.phase === 'Failed') services.events.record(machine, 'Warning', 'Parked', describeMachineProgress(verdict));
  recordPhaseChange(services, machine, before, status, context.log);
}

/** Once for each failure: the condition still has its former reason then. */
function reportUpdateFailure({ services, machine, context }: MachineTask, { conditions }: MachineStatus): void {
  const now = findFalseCondition(conditions, 'UpToDate');
  const before = findFalseCondition(machine.status?.conditions, 'UpToDate');
  if (!now || !isUpdateFailure(now.reason) || before?.reason === now.reason) return;
  recordUpdateFailure(services, machine, { reason: toStepReason(now.reason), message: now.message }, context.log);
}
