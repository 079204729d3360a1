import { Machine, type MachineStatus } from '../../../api/machine.ts';
import { type AdvanceResult, advance, type Progress } from '../../../engine/advance.ts';
import type { StepContext } from '../../../engine/contexts.ts';
import type { Facts, Step } from '../../../engine/step.ts';
import { isServerCondition } from '../../../kube/errors.ts';
import { joinSteps, type TalosStepContext } from '../../../talos/join-steps.ts';
import { applyStepName, firstUpdateStep, updateFacts } from '../../../talos/update/update-context.ts';
import { isUpdateOpen, updateStepsOf } from '../../../talos/update/update-steps.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { machinesOfCluster } from '../../cluster/view.ts';
import { patchStatus } from '../../shared/objects.ts';
import { logStepRecovery } from '../../shared/step-log.ts';
import { comparedMachinesOf } from '../configuration/compared-machines.ts';
import { planPhases } from '../describe.ts';
import { isMaintenancePlan } from '../is-provisioned.ts';
import { recordUpdate, recordUpdateStart } from '../machine-events.ts';
import { releaseStepsOf } from '../release-steps.ts';
import { approvalsOf } from '../repair/approvals.ts';
import { asProvisioned } from '../repair/conclude-repair.ts';
import { recoverWhileWaiting } from '../repair/recover-while-waiting.ts';
import { findOpenRestart } from '../repair/restart-request.ts';
import { updateContextOf } from '../update/update-context-of.ts';
import type { DesiredMachine } from './desired.ts';
import type { MachineTask } from './machine-task.ts';
import { type ObservedMachine, observeProvisioned, savedProgress } from './observed.ts';
import type { WalkPlan } from './plan.ts';

/** Runs the steps of the plan, and observes the Machine after them if it is provisioned or has joined. */
export async function walkMachine(
  desired: DesiredMachine,
  observed: ObservedMachine,
  plan: WalkPlan,
): Promise<ObservedMachine> {
  switch (plan.plan) {
    case 'repair':
      return await walkRepair(desired, observed, plan);
    case 'update':
      return await walkUpdate(desired, observed, plan);
    default:
      return await walkLifecycle(desired, observed, plan);
  }
}

async function walkLifecycle(
  desired: DesiredMachine,
  observed: ObservedMachine,
  { plan, environment }: Extract<WalkPlan, { plan: 'provision' | 'release' }>,
): Promise<ObservedMachine> {
  const { platform, context } = environment;
  const steps =
    plan === 'provision'
      ? provisionStepsOf(desired, platform)
      : releaseStepsOf(desired.services, desired.machine, platform);
  const result = await runSteps(desired, { plan, platform: platform.name, steps, context });
  const { progress } = result;
  const isPostJoin = platform.postJoin.some(({ name }) => name === progress.step);
  const serves = plan === 'provision' && (result.kind === 'finished' || isPostJoin);
  return {
    ...observed,
    progress,
    approvals: approvalsOf(desired.machine),
    observation: serves ? await observeProvisioned(desired, progress) : undefined,
    walk: { plan, result, startedFor: [] },
  };
}

async function walkRepair(
  desired: DesiredMachine,
  observed: ObservedMachine,
  { plan, environment, drift }: Extract<WalkPlan, { plan: 'repair' }>,
): Promise<ObservedMachine> {
  const { services, machine } = desired;
  const { phase: phaseBefore, progress: before } = { ...machine.status };
  const startedFor = before?.plan === 'repair' ? [] : drift;
  const reasons = drift.map(({ reason }) => reason);
  const { platform } = environment;
  const steps = platform.repair?.steps ?? [];
  const context = (facts: Facts) => ({
    ...environment.context(facts),
    reasons,
    restart: findOpenRestart(machine, facts),
  });
  const result = await runSteps(desired, { plan, platform: platform.name, steps, context });
  const walk = { plan, result, phaseBefore, startedFor };
  comparedMachinesOf(services).forget(machine);
  if (result.kind !== 'finished') return { ...observed, walk };
  const progress = asProvisioned(result.progress, services.clock.now());
  return { ...observed, progress, observation: await observeProvisioned(desired, progress), walk };
}

async function walkUpdate(
  desired: DesiredMachine,
  observed: ObservedMachine,
  { plan, environment, desiredNode, compared }: Extract<WalkPlan, { plan: 'update' }>,
): Promise<ObservedMachine> {
  const { services, machine, context: reconcile } = desired;
  const phaseBefore = machine.status?.phase;
  if (!isUpdateOpen(observed.progress)) recordUpdateStart(services, machine, reconcile.log);
  const contextOf = updateContextOf(desired, environment, desiredNode);
  let former: string | undefined;
  const context = (facts: Facts, { name }: { readonly name: string }) => {
    // The steps change the node: what was found counts until the first one that does.
    const isCurrent = former === undefined || (former === firstUpdateStep && name === applyStepName);
    former = name;
    return isCurrent ? { ...contextOf(facts), compared } : contextOf(facts);
  };
  const { name: platform, hardware } = environment.platform;
  const result = await runSteps(desired, { plan, platform, steps: updateStepsOf(hardware), context });
  const walk = { plan, result, phaseBefore, startedFor: [] };
  if (result.progress.facts[updateFacts.disrupts] !== false) comparedMachinesOf(services).forget(machine);
  if (result.kind !== 'finished') return { ...observed, walk };
  recordUpdate(services, machine, reconcile.log);
  const progress = asProvisioned(result.progress, services.clock.now());
  return { ...observed, progress, observation: await observeProvisioned(desired, progress), walk };
}

function provisionStepsOf(
  { services, machine }: MachineTask,
  platform: WalkPlan['environment']['platform'],
): readonly Step<TalosStepContext>[] {
  const controlPlanes = () =>
    machinesOfCluster(services, clusterOfMachine(machine)).filter(({ spec }) => spec.role === 'controlplane');
  const watched = joinSteps.map((step) => recoverWhileWaiting(step, machine, platform, controlPlanes));
  return [...platform.provision, ...watched, ...platform.postJoin];
}

interface StepRun<C extends StepContext> {
  readonly plan: Progress['plan'];
  readonly platform: string;
  readonly steps: readonly Step<C>[];
  context(facts: Facts, step: { readonly name: string }): C;
}

/** Only the creation of a cluster is traced. */
function traceStep<C extends StepContext>(
  { services, machine }: MachineTask,
  platform: string,
  plan: string,
  step: Step<C>,
): Step<C> {
  const { tracer } = services;
  if (!tracer) return step;
  const about = { cluster: clusterOfMachine(machine), machine: machine.metadata.name, platform, plan, step: step.name };
  const since = (): string | undefined => {
    const { progress } = machine.status ?? {};
    return progress?.plan === plan && progress.step === step.name ? progress.since : undefined;
  };
  return {
    ...step,
    run: async (context) => await tracer.step({ ...about, since: since() }, async () => await step.run(context)),
  };
}

async function runSteps<C extends StepContext>(
  task: MachineTask,
  { plan, platform, steps, context }: StepRun<C>,
): Promise<AdvanceResult> {
  const { services, machine } = task;
  const names = steps.map(({ name }) => name);
  return await advance<C>({
    plan,
    steps: plan === 'provision' ? steps.map((step) => traceStep(task, platform, plan, step)) : steps,
    progress: savedProgress(machine),
    context,
    save: (progress) => saveProgress(task, progress, names),
    observer: (step, end, seconds) => services.observer.step({ platform, plan, step }, end, seconds),
    // Addresses are Leases on the same API server as the record: if it fails, both fail.
    concernsRecord: isServerCondition,
    clock: services.clock,
    signal: task.context.signal,
  });
}

/**
 * Writes the progress record and updates the object in memory. The write is conditional on the record that it started
 * from: a late write of a former leader must not overwrite its successor's.
 */
async function saveProgress(
  { services, machine, context }: MachineTask,
  progress: Progress,
  steps: readonly string[],
): Promise<void> {
  // A maintained Machine returns to the plan `provision` in the same write.
  const record =
    isMaintenancePlan(progress.plan) && progress.finishedAt ? asProvisioned(progress, services.clock.now()) : progress;
  const before = machine.status?.progress;
  const isNew = !progress.finishedAt && (before?.step !== progress.step || before.plan !== progress.plan);
  const started = {
    phase: planPhases[progress.plan],
    message: `${progress.step}: step ${steps.indexOf(progress.step) + 1} of ${steps.length}.`,
  };
  const status: MachineStatus = {
    ...(machine.status ?? { observedGeneration: 0, phase: '', conditions: [] }),
    ...(isNew ? started : {}),
    progress: { ...record, facts: { ...record.facts } },
  };
  const written = await patchStatus(services.kube, Machine, machine, status, context.signal, { locked: true });
  machine.status = status;
  if (written) machine.metadata = written.metadata;
  logStepRecovery(context.log, before, progress);
  if (isNew) context.log.info({ step: progress.step, plan: progress.plan }, 'step begins');
}
