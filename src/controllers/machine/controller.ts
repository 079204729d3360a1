import { Machine, type MachineStatus } from '../../api/machine.ts';
import { finalizers } from '../../api/names.ts';
import { type AdvanceResult, advance, type Progress } from '../../engine/advance.ts';
import type { StepContext } from '../../engine/contexts.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Facts, Step } from '../../engine/step.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { isConflict, isRetryable } from '../../kube/errors.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { joinSteps, type TalosStepContext } from '../../talos/join-steps.ts';
import { clusterOfMachine, isOwnMachine } from '../cluster/identity.ts';
import { findCluster } from '../cluster/ownership.ts';
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

/** Retry interval while a prerequisite is missing that only a user can provide. */
const blockedRetrySeconds = 60;

interface MachineReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly monitor: MachineMonitor;
}

/**
 * Runs the steps of one Machine. The object is read from the API server and not from the cache, because the progress
 * record must never be older than our own last write.
 */
export async function reconcileMachine(
  services: Services,
  key: ObjectKey,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  // Whatever triggered this reconcile, the Machine is monitored again only after it was observed as idle.
  context.monitor.release(key.name);
  const found = await services.kube.find(Machine, key, context.signal);
  if (!found || !isOwnMachine(services, found.spec)) return {};
  // The Cluster wakes its Machines when the annotation is removed.
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
  const problem = isProvisioned(saved) ? undefined : await findProvisioningBlocker(services, machine, context.signal);
  if (problem) return await reportBlocked(services, machine, 'provision', problem, context);
  return await runPlan(services, machine, 'provision', context);
}

async function runPlan(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  let environment: StepEnvironment;
  try {
    environment = prepareStepEnvironment(services, machine, context.signal, context.log);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return await handleMissingEnvironment(services, machine, plan, error, context);
  }
  const saved = savedProgress(machine);
  const made = plan === 'provision' && isProvisioned(saved) ? saved : undefined;
  const verdict: AdvanceResult = made
    ? { kind: 'finished', progress: made }
    : await runPlanSteps(services, machine, environment, plan, context);
  if (plan === 'release' && mayAbandonMachine(services, machine, verdict))
    return await abandonMachine(services, machine, context.signal);
  if (verdict.kind !== 'finished') {
    const serves = environment.platform.postJoin.some(({ name }) => name === verdict.progress.step);
    const observed = serves ? await tryObserve(services, machine, environment, verdict.progress, context) : undefined;
    await reportStatus(services, machine, verdict, observed, context);
    return { requeueAfterSeconds: verdict.seconds };
  }
  if (plan === 'release') return await finishRelease(services, machine, verdict.progress.facts, context);
  return { requeueAfterSeconds: await maintainMachine(services, machine, environment, verdict.progress, context) };
}

/** Observes and repairs a provisioned Machine. Returns the seconds until the next reconcile. */
async function maintainMachine(
  services: Services,
  machine: Machine,
  environment: StepEnvironment,
  progress: Progress,
  context: MachineReconcileContext,
): Promise<number> {
  // While steps run, the status shows their progress.
  const before = machine.status?.phase;
  const isBegun = machine.status?.progress?.plan === 'repair';
  const kept = await remediateMachine(
    services,
    machine,
    progress,
    remediationActionsOf(services, machine, environment, context),
  );
  if (!isBegun) recordRepairs(services, machine, kept.repaired, context.log);
  await reportStatus(services, machine, kept.observation, kept.observed, context, before);
  return kept.seconds;
}

/** Handles a missing prerequisite of every step and observation. */
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
  environment: StepEnvironment,
  context: MachineReconcileContext,
): RemediationActions {
  const { repair: capability } = environment.platform;
  const read = (progress: Progress) => tryObserve(services, machine, environment, progress, context);
  const rest = (fingerprint: string) => context.monitor.add(machine, fingerprint);
  if (!capability) return { signal: context.signal, observe: read, finish: rest };
  const repair = async (reasons: readonly string[]): Promise<AdvanceResult> =>
    await runSteps(services, machine, environment, 'repair', context, capability.steps, (facts) => ({
      ...environment.context(facts),
      reasons,
    }));
  return { signal: context.signal, observe: read, finish: rest, repair };
}

async function finishRelease(
  services: Services,
  machine: Machine,
  facts: Facts,
  context: MachineReconcileContext,
): Promise<ReconcileResult> {
  const isDown = typeof facts['approved'] !== 'string';
  if (isDown) services.events.record(machine, 'Normal', 'Released', 'The machine was taken down.');
  // The steps have written the status, so the finalizer must be removed from the current version.
  const current = await services.kube.find(Machine, { name: machine.metadata.name }, context.signal);
  if (current) await removeFinalizer(services.kube, Machine, current, finalizers.machine, context.signal);
  return {};
}

async function runPlanSteps(
  services: Services,
  machine: Machine,
  environment: StepEnvironment,
  plan: Progress['plan'],
  context: MachineReconcileContext,
): Promise<AdvanceResult> {
  const { platform, context: contextOf } = environment;
  const steps: readonly Step<TalosStepContext>[] =
    plan === 'provision' ? provisionStepsOf(services, platform, machine) : releaseStepsOf(services, machine, platform);
  return await runSteps(services, machine, environment, plan, context, steps, contextOf);
}

async function runSteps<C extends StepContext>(
  services: Services,
  machine: Machine,
  environment: StepEnvironment,
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
      services.observer.step({ platform: environment.platform.name, plan, step }, end, seconds),
    // Addresses are Leases on the same API server as the record: if it fails, both fail.
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
  return [...platform.provision, ...watched, ...platform.postJoin];
};

const savedProgress = (machine: Machine): Progress | undefined => {
  const saved = machine.status?.progress;
  // Only this provider writes facts, and their values are strings, numbers and booleans.
  return saved ? ({ ...saved, facts: saved.facts } as Progress) : undefined;
};

/**
 * Writes the progress record and updates the object in memory. The write is conditional on the record that it started
 * from: a late write of a former leader must not overwrite its successor's.
 */
async function saveProgress(
  services: Services,
  machine: Machine,
  progress: Progress,
  steps: readonly string[],
  context: MachineReconcileContext,
): Promise<void> {
  // A repaired Machine returns to the plan `provision` in the same write.
  const record =
    progress.plan === 'repair' && progress.finishedAt ? asProvisioned(progress, services.clock.now()) : progress;
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
  if (isNew) context.log.info({ step: progress.step, plan: progress.plan }, 'step begins');
}

async function tryObserve(
  services: Services,
  machine: Machine,
  environment: StepEnvironment,
  progress: Progress,
  { signal }: MachineReconcileContext,
): Promise<MachineObservation> {
  const member = nodeMembershipOf(services, machine, progress.facts, signal);
  const stepContext = environment.context(progress.facts);
  try {
    return withoutUnacceptedDrift(services, machine, await observeMachine(environment, stepContext, member));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return await observeWithoutPlatform(platformProblemOf(error), stepContext, member);
  }
}

/** Without drift from a ProviderConfig that its platform has rejected or not yet checked. */
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

/**
 * Reports a provisioned Machine that cannot be maintained, e.g. because the platform credentials are missing. Its Node
 * may still be ready.
 */
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
  const problem = { reason: error.code, message: error.message };
  const member = nodeMembershipOf(services, machine, saved.facts, context.signal);
  const observed = await observeWithoutPlatform(problem, node, member);
  const progress = asProvisioned(saved, services.clock.now());
  await reportStatus(services, machine, { kind: 'finished', progress }, observed, context);
  return { requeueAfterSeconds: blockedRetrySeconds };
}

/** Reports in the status why no step can run, and retries. */
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
  // The record is unchanged, because no step has run.
  const { progress: saved } = machine.status ?? {};
  const { progress: _, ...rest } = status;
  const reported = saved ? { ...rest, progress: saved } : rest;
  await patchStatusIfExists(services.kube, Machine, machine, reported, context.signal, { locked: true });
  return { requeueAfterSeconds: verdict.seconds };
}
