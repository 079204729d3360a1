import { Machine, type MachineStatus } from '../../api/machine.ts';
import { finalizers } from '../../api/names.ts';
import { type AdvanceResult, advance, type Progress } from '../../engine/advance.ts';
import type { Facts, Platform, Step, StepContext } from '../../engine/platform.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { isConflict, isRetryable } from '../../kube/errors.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { joinSteps, type TalosStepContext } from '../../talos/join-steps.ts';
import { clusterOfMachine, findCluster, isOwnMachine } from '../cluster/ownership.ts';
import { machinesOfCluster } from '../cluster/view.ts';
import { recoverWhileWaiting } from '../remediation/recover-while-waiting.ts';
import { asProvisioned, type RemediationActions, remediateMachine } from '../remediation/remediate-machine.ts';
import {
  consumeOperation,
  ensureFinalizer,
  hasIgnoreOperation,
  patchStatus,
  patchStatusIfExists,
  removeFinalizer,
} from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { abandonMachine, mayAbandonMachine } from './abandon-machine.ts';
import { describeMachineProgress, describeMachineStatus, planPhases } from './describe.ts';
import { isConfigAccepted } from './is-config-accepted.ts';
import { isProvisioned } from './is-provisioned.ts';
import { recordPhaseChange, recordRepairs } from './machine-events.ts';
import type { MachineMonitor } from './machine-monitor.ts';
import { nodeMembershipOf } from './node-membership.ts';
import {
  type MachineObservation,
  observeMachine,
  observeWithoutPlatform,
  platformProblemOf,
} from './observe-machine.ts';
import { findProvisioningBlocker } from './provisioning-blocker.ts';
import { releaseStepsOf } from './release-steps.ts';
import { prepareStepEnvironment, type StepEnvironment } from './step-environment.ts';

/** How often a machine is tried for which something is missing that people have to bring. */
const blockedRetrySeconds = 60;

interface MachineReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly vigil: MachineMonitor;
}

/**
 * Walks the steps of one Machine. The object is read anew, not from the cache: the record of its progress must never be
 * older than what we wrote ourselves.
 */
export async function reconcileMachine(
  services: Services,
  key: ObjectKey,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  // Whatever has it looked at, it is at rest again only when it is found so.
  context.vigil.release(key.name);
  const found = await services.kube.find(Machine, key, context.signal);
  if (!found || !isOwnMachine(services, found.spec)) return {};
  // Without the annotation the Cluster wakes its Machines.
  if (hasIgnoreOperation(findCluster(services.stores, clusterOfMachine(found)))) return {};
  const { operation, object: machine } = await consumeOperation(services.kube, Machine, found, context.signal);
  if (operation === 'ignore') return {};
  if (!machine.metadata.deletionTimestamp) {
    const held = await ensureFinalizer(services.kube, Machine, machine, finalizers.machine, context.signal);
    return held ? await provisionMachine(services, held, context) : {};
  }
  if (!machine.metadata.finalizers?.includes(finalizers.machine)) return {};
  return await runPlan(services, machine, 'release', context);
}

async function provisionMachine(
  services: Services,
  machine: Machine,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const saved = savedProgress(machine);
  const trouble = isProvisioned(saved) ? undefined : await findProvisioningBlocker(services, machine, context.signal);
  if (trouble) return await reportBlocked(services, machine, 'provision', trouble, context);
  return await runPlan(services, machine, 'provision', context);
}

async function runPlan(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  let workplace: StepEnvironment;
  try {
    workplace = prepareStepEnvironment(services, machine, context.signal, context.log);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return await handleMissingEnvironment(services, machine, plan, error, context);
  }
  const saved = savedProgress(machine);
  const made = plan === 'provision' && isProvisioned(saved) ? saved : undefined;
  const verdict: AdvanceResult = made
    ? { kind: 'finished', progress: made }
    : await runPlanSteps(services, machine, workplace, plan, context);
  if (plan === 'release' && mayAbandonMachine(services, machine, verdict))
    return await abandonMachine(services, machine, context.signal);
  if (verdict.kind !== 'finished') {
    const serves = workplace.platform.settle.some(({ name }) => name === verdict.progress.step);
    const observed = serves ? await tryObserve(services, machine, workplace, verdict.progress, context) : undefined;
    await reportStatus(services, machine, verdict, observed, context);
    return { againInSeconds: verdict.seconds };
  }
  if (plan === 'release') return await finishRelease(services, machine, verdict.progress.facts, context);
  return { againInSeconds: await maintainMachine(services, machine, workplace, verdict.progress, context) };
}

/** Looks after a machine that was made, and says after how many seconds that is to be done again. */
async function maintainMachine(
  services: Services,
  machine: Machine,
  workplace: StepEnvironment,
  progress: Progress,
  context: MachineReconcileContext,
): Promise<number> {
  // While steps are walked, the status says how far they are.
  const before = machine.status?.phase;
  const isBegun = machine.status?.progress?.plan === 'mend';
  const kept = await remediateMachine(
    services,
    machine,
    progress,
    remediationActionsOf(services, machine, workplace, context),
  );
  if (!isBegun) recordRepairs(services, machine, kept.mended, context.log);
  await reportStatus(services, machine, kept.verdict, kept.observed, context, before);
  return kept.seconds;
}

/** Something is missing that every step and every look needs. */
async function handleMissingEnvironment(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  error: ProviderError,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  if (plan === 'release' && mayAbandonMachine(services, machine, error))
    return await abandonMachine(services, machine, context.signal);
  const saved = savedProgress(machine);
  return plan === 'provision' && isProvisioned(saved)
    ? await reportProvisionedBlocked(services, machine, saved, error, context)
    : await reportBlocked(services, machine, plan, error, context);
}

function remediationActionsOf(
  services: Services,
  machine: Machine,
  workplace: StepEnvironment,
  context: MachineReconcileContext,
): RemediationActions {
  const { mending } = workplace.platform;
  const look = (progress: Progress) => tryObserve(services, machine, workplace, progress, context);
  const rest = (trace: string) => context.vigil.keep(machine, trace);
  if (!mending) return { signal: context.signal, look, rest };
  const mend = async (reasons: readonly string[]): Promise<AdvanceResult> =>
    await runSteps(services, machine, workplace, 'mend', context, mending.mend, (facts) => ({
      ...workplace.context(facts),
      reasons,
    }));
  return { signal: context.signal, look, rest, mend };
}

async function finishRelease(
  services: Services,
  machine: Machine,
  facts: Facts,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const isDown = typeof facts['agreed'] !== 'string';
  if (isDown) services.events.record(machine, 'Normal', 'Released', 'The machine was taken down.');
  // The walk has written the status, so the object in hand is older than the one to take the finalizer from.
  const current = await services.kube.find(Machine, { name: machine.metadata.name }, context.signal);
  if (current) await removeFinalizer(services.kube, Machine, current, finalizers.machine, context.signal);
  return {};
}

async function runPlanSteps(
  services: Services,
  machine: Machine,
  workplace: StepEnvironment,
  plan: Progress['plan'],
  context: MachineReconcileContext,
): Promise<AdvanceResult> {
  const { platform, context: contextOf } = workplace;
  const steps: readonly Step<TalosStepContext>[] =
    plan === 'provision' ? provisionStepsOf(services, platform, machine) : releaseStepsOf(services, machine, platform);
  return await runSteps(services, machine, workplace, plan, context, steps, contextOf);
}

async function runSteps<C extends StepContext>(
  services: Services,
  machine: Machine,
  workplace: StepEnvironment,
  plan: Progress['plan'],
  context: MachineReconcileContext,
  steps: readonly Step<C>[],
  contextOf: (facts: Facts) => C,
): Promise<AdvanceResult> {
  const names = steps.map(({ name }) => name);
  return await advance<C>({
    plan,
    steps,
    progress: savedProgress(machine),
    context: contextOf,
    save: (progress) => saveProgress(services, machine, progress, names, context),
    observer: (step, end, seconds) =>
      services.observer.step({ platform: workplace.platform.name, plan, step }, end, seconds),
    // Addresses are claimed where the record is kept: at an API server that fails, neither is to be had.
    concernsRecord: (error) => isRetryable(error) || isConflict(error),
    clock: services.clock,
    signal: context.signal,
  });
}

const provisionStepsOf = (
  services: Services,
  platform: Platform,
  machine: Machine,
): readonly Step<TalosStepContext>[] => {
  const controlPlanes = () =>
    machinesOfCluster(services, clusterOfMachine(machine)).filter(({ spec }) => spec.role === 'controlplane');
  const watched = joinSteps.map((step) => recoverWhileWaiting(step, machine, platform, controlPlanes));
  return [...platform.provision, ...watched, ...platform.settle];
};

const savedProgress = (machine: Machine): Progress | undefined => {
  const saved = machine.status?.progress;
  // Facts are written by us alone and only ever hold texts, numbers and truth values.
  return saved ? ({ ...saved, facts: saved.facts } as Progress) : undefined;
};

/**
 * Writes the record down and keeps the object in hand in step with what was written. Only over the record that it was
 * made from: a write of a process that leads no more may arrive after its successor has gone on.
 */
async function saveProgress(
  services: Services,
  machine: Machine,
  progress: Progress,
  /** Names of all steps of the plan. */
  steps: readonly string[],
  context: MachineReconcileContext,
): Promise<void> {
  // A machine that was put right is again one that was made, in the same breath.
  const record =
    progress.plan === 'mend' && progress.finishedAt ? asProvisioned(progress, services.clock.now()) : progress;
  const before = machine.status?.progress;
  const isNew = !progress.finishedAt && (before?.step !== progress.step || before.plan !== progress.plan);
  const begun = {
    phase: planPhases[progress.plan],
    message: `${progress.step}: step ${steps.indexOf(progress.step) + 1} of ${steps.length}.`,
  };
  const status: MachineStatus = {
    ...(machine.status ?? { observedGeneration: 0, phase: '', conditions: [] }),
    ...(isNew ? begun : {}),
    progress: { ...record, facts: { ...record.facts } },
  };
  const written = await patchStatus(services.kube, Machine, machine, status, context.signal, { locked: true });
  machine.status = status;
  if (written) machine.metadata = written.metadata;
  if (isNew) context.log.info({ step: progress.step, plan: progress.plan }, 'step begins');
}

async function tryObserve(
  services: Services,
  machine: Machine,
  workplace: StepEnvironment,
  progress: Progress,
  { signal }: MachineReconcileContext,
): Promise<MachineObservation> {
  const member = nodeMembershipOf(services, machine, progress.facts, signal);
  const stepContext = workplace.context(progress.facts);
  try {
    return withoutUnacceptedDrift(services, machine, await observeMachine(workplace, stepContext, member));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return await observeWithoutPlatform(platformProblemOf(error), stepContext, member);
  }
}

/** Without what differs only from a ProviderConfig that its platform refuses, or has not been asked about yet. */
function withoutUnacceptedDrift(
  { stores }: Services,
  { spec }: Machine,
  observed: MachineObservation,
): MachineObservation {
  if (isConfigAccepted(stores.providerConfigs.get({ name: spec.providerConfigRef.name }))) return observed;
  return { ...observed, drift: observed.drift.filter(({ byConfig }) => !byConfig) };
}

async function reportStatus(
  services: Services,
  machine: Machine,
  verdict: AdvanceResult,
  observed: MachineObservation | undefined,
  context: MachineReconcileContext,
  before = machine.status?.phase,
): Promise<void> {
  const status = describeMachineStatus(machine, verdict, observed, services.clock.now());
  const changed = await patchStatusIfExists(services.kube, Machine, machine, status, context.signal, { locked: true });
  if (verdict.kind === 'error') {
    const { error } = verdict;
    if (error instanceof ProviderError)
      context.log.warn(
        { step: verdict.progress.step, code: error.code, failures: verdict.progress.failures },
        'step failed, is tried again',
      );
    else context.log.error({ step: verdict.progress.step, error }, 'step failed by a fault of ours');
  }
  if (!changed || before === status.phase) return;
  if (status.phase === 'Failed') services.events.record(machine, 'Warning', 'Parked', describeMachineProgress(verdict));
  recordPhaseChange(services, machine, before, status, context.log);
}

/** A finished machine that nothing can be done for, e.g. since the key of its platform is missing. Its node may serve. */
async function reportProvisionedBlocked(
  services: Services,
  machine: Machine,
  saved: Progress,
  error: ProviderError,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const node = {
    facts: saved.facts,
    openTalos: (address: string) => services.targets.talos(clusterOfMachine(machine), address),
  };
  const trouble = { reason: error.code, message: error.message };
  const member = nodeMembershipOf(services, machine, saved.facts, context.signal);
  const observed = await observeWithoutPlatform(trouble, node, member);
  const progress = asProvisioned(saved, services.clock.now());
  await reportStatus(services, machine, { kind: 'finished', progress }, observed, context);
  return { againInSeconds: blockedRetrySeconds };
}

/** The walk cannot even begin: say so where people look, and try again. */
async function reportBlocked(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  error: ProviderError,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const progress = savedProgress(machine) ?? {
    plan,
    step: '',
    since: services.clock.now().toISOString(),
    failures: 0,
    facts: {},
  };
  const verdict: AdvanceResult = {
    kind: 'failed',
    progress: { ...progress, plan },
    seconds: blockedRetrySeconds,
    reason: error.code,
    message: error.message,
  };
  const status = describeMachineStatus(machine, verdict, undefined, services.clock.now());
  // The record stays as it was: nothing was walked.
  const { progress: saved } = machine.status ?? {};
  const { progress: _, ...rest } = status;
  const told = saved ? { ...rest, progress: saved } : rest;
  await patchStatusIfExists(services.kube, Machine, machine, told, context.signal, { locked: true });
  return { againInSeconds: verdict.seconds };
}
