import { Machine, type MachineStatus } from '../../api/machine.ts';
import { finalizers } from '../../api/names.ts';
import { advance, type Progress, type Verdict } from '../../engine/advance.ts';
import type { Facts, Platform, Step, StepContext } from '../../engine/platform.ts';
import type { Result } from '../../kube/controller.ts';
import { isConflict, isPassing } from '../../kube/errors.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { joinSteps, type TalosStepContext } from '../../talos/steps.ts';
import { clusterObject, clusterOf, isOwnMachine } from '../cluster/identity.ts';
import { machinesOf } from '../cluster/view.ts';
import { dropFinalizer, ensureFinalizer, isIgnored, saveStatus, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { openWorkplace, type Workplace } from './context.ts';
import { describeMessage, describeStatus, phases } from './describe.ts';
import { whyHeldBack } from './held-back.ts';
import { isAccepted } from './is-accepted.ts';
import { isMade } from './is-made.ts';
import { releaseOf } from './leave-etcd.ts';
import { giveUp, isGivenUp } from './lost-place.ts';
import { membershipOf } from './membership.ts';
import { type Observed, observeMachine, observeWithoutPlatform, platformTrouble } from './observe.ts';
import { recoverWhileWaiting } from './recover.ts';
import { tellOfChange, tellOfMending } from './tell.ts';
import { asMade, type Hands, keepUp } from './upkeep.ts';
import type { Vigil } from './vigil.ts';

/** How often a machine is tried for which something is missing that people have to bring. */
const blockedSeconds = 60;

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly vigil: Vigil;
}

/**
 * Walks the steps of one Machine. The object is read anew, not from the cache: the record of its progress must never be
 * older than what we wrote ourselves.
 */
export async function reconcileMachine(services: Services, key: ObjectKey, context: Context): Promise<Result> {
  // Whatever has it looked at, it is at rest again only when it is found so.
  context.vigil.release(key.name);
  const found = await services.kube.find(Machine, key, context.signal);
  if (!found || !isOwnMachine(services, found.spec)) return {};
  // Without the annotation the Cluster wakes its Machines.
  if (isIgnored(clusterObject(services.stores, clusterOf(found)))) return {};
  const { operation, object: machine } = await takeOperation(services.kube, Machine, found, context.signal);
  if (operation === 'ignore') return {};
  if (!machine.metadata.deletionTimestamp) {
    const held = await ensureFinalizer(services.kube, Machine, machine, finalizers.machine, context.signal);
    return held ? await provide(services, held, context) : {};
  }
  if (!machine.metadata.finalizers?.includes(finalizers.machine)) return {};
  return await walk(services, machine, 'release', context);
}

async function provide(services: Services, machine: Machine, context: Context): Promise<Result> {
  const saved = savedProgress(machine);
  const trouble = isMade(saved) ? undefined : await whyHeldBack(services, machine, context.signal);
  if (trouble) return await reportBlocked(services, machine, 'provision', trouble, context);
  return await walk(services, machine, 'provision', context);
}

async function walk(services: Services, machine: Machine, plan: Progress['plan'], context: Context): Promise<Result> {
  let workplace: Workplace;
  try {
    workplace = openWorkplace(services, machine, context.signal, context.log);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return await withoutWorkplace(services, machine, plan, error, context);
  }
  const saved = savedProgress(machine);
  const made = plan === 'provision' && isMade(saved) ? saved : undefined;
  const verdict: Verdict = made
    ? { kind: 'finished', progress: made }
    : await advanceMachine(services, machine, workplace, plan, context);
  if (plan === 'release' && isGivenUp(services, machine, verdict))
    return await giveUp(services, machine, context.signal);
  if (verdict.kind !== 'finished') {
    const serves = workplace.platform.settle.some(({ name }) => name === verdict.progress.step);
    const observed = serves ? await observe(services, machine, workplace, verdict.progress, context) : undefined;
    await report(services, machine, verdict, observed, context);
    return { againInSeconds: verdict.seconds };
  }
  if (plan === 'release') return await letGo(services, machine, verdict.progress.facts, context);
  return { againInSeconds: await keepMade(services, machine, workplace, verdict.progress, context) };
}

/** Looks after a machine that was made, and says after how many seconds that is to be done again. */
async function keepMade(
  services: Services,
  machine: Machine,
  workplace: Workplace,
  progress: Progress,
  context: Context,
): Promise<number> {
  // While steps are walked, the status says how far they are.
  const before = machine.status?.phase;
  const isBegun = machine.status?.progress?.plan === 'mend';
  const kept = await keepUp(services, machine, progress, handsOf(services, machine, workplace, context));
  if (!isBegun) tellOfMending(services, machine, kept.mended, context.log);
  await report(services, machine, kept.verdict, kept.observed, context, before);
  return kept.seconds;
}

/** Something is missing that every step and every look needs. */
async function withoutWorkplace(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  error: ProviderError,
  context: Context,
): Promise<Result> {
  if (plan === 'release' && isGivenUp(services, machine, error)) return await giveUp(services, machine, context.signal);
  const saved = savedProgress(machine);
  return plan === 'provision' && isMade(saved)
    ? await reportServing(services, machine, saved, error, context)
    : await reportBlocked(services, machine, plan, error, context);
}

function handsOf(services: Services, machine: Machine, workplace: Workplace, context: Context): Hands {
  const { mending } = workplace.platform;
  const look = (progress: Progress) => observe(services, machine, workplace, progress, context);
  const rest = (trace: string) => context.vigil.keep(machine, trace);
  if (!mending) return { signal: context.signal, look, rest };
  const mend = async (reasons: readonly string[]): Promise<Verdict> =>
    await walkSteps(services, machine, workplace, 'mend', context, mending.mend, (facts) => ({
      ...workplace.context(facts),
      reasons,
    }));
  return { signal: context.signal, look, rest, mend };
}

async function letGo(services: Services, machine: Machine, facts: Facts, context: Context): Promise<Result> {
  const isDown = typeof facts['agreed'] !== 'string';
  if (isDown) services.events.record(machine, 'Normal', 'Released', 'The machine was taken down.');
  // The walk has written the status, so the object in hand is older than the one to take the finalizer from.
  const current = await services.kube.find(Machine, { name: machine.metadata.name }, context.signal);
  if (current) await dropFinalizer(services.kube, Machine, current, finalizers.machine, context.signal);
  return {};
}

async function advanceMachine(
  services: Services,
  machine: Machine,
  workplace: Workplace,
  plan: Progress['plan'],
  context: Context,
): Promise<Verdict> {
  const { platform, context: contextOf } = workplace;
  const steps: readonly Step<TalosStepContext>[] =
    plan === 'provision' ? provisionOf(services, platform, machine) : releaseOf(services, machine, platform);
  return await walkSteps(services, machine, workplace, plan, context, steps, contextOf);
}

async function walkSteps<C extends StepContext>(
  services: Services,
  machine: Machine,
  workplace: Workplace,
  plan: Progress['plan'],
  context: Context,
  steps: readonly Step<C>[],
  contextOf: (facts: Facts) => C,
): Promise<Verdict> {
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
    concernsRecord: (error) => isPassing(error) || isConflict(error),
    clock: services.clock,
    signal: context.signal,
  });
}

const provisionOf = (services: Services, platform: Platform, machine: Machine): readonly Step<TalosStepContext>[] => {
  const controlPlanes = () =>
    machinesOf(services, clusterOf(machine)).filter(({ spec }) => spec.role === 'controlplane');
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
  context: Context,
): Promise<void> {
  // A machine that was put right is again one that was made, in the same breath.
  const record = progress.plan === 'mend' && progress.finishedAt ? asMade(progress, services.clock.now()) : progress;
  const before = machine.status?.progress;
  const isNew = !progress.finishedAt && (before?.step !== progress.step || before.plan !== progress.plan);
  const begun = {
    phase: phases[progress.plan],
    message: `${progress.step}: step ${steps.indexOf(progress.step) + 1} of ${steps.length}.`,
  };
  const status: MachineStatus = {
    ...(machine.status ?? { observedGeneration: 0, phase: '', conditions: [] }),
    ...(isNew ? begun : {}),
    progress: { ...record, facts: { ...record.facts } },
  };
  const written = await saveStatus(services.kube, Machine, machine, status, context.signal, { locked: true });
  machine.status = status;
  if (written) machine.metadata = written.metadata;
  if (isNew) context.log.info({ step: progress.step, plan: progress.plan }, 'step begins');
}

async function observe(
  services: Services,
  machine: Machine,
  workplace: Workplace,
  progress: Progress,
  { signal }: Context,
): Promise<Observed> {
  const member = membershipOf(services, machine, progress.facts, signal);
  const stepContext = workplace.context(progress.facts);
  try {
    return ofAccepted(services, machine, await observeMachine(workplace, stepContext, member));
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return await observeWithoutPlatform(platformTrouble(error), stepContext, member);
  }
}

/** Without what differs only from a ProviderConfig that its platform refuses, or has not been asked about yet. */
function ofAccepted({ stores }: Services, { spec }: Machine, observed: Observed): Observed {
  if (isAccepted(stores.providerConfigs.get({ name: spec.providerConfigRef.name }))) return observed;
  return { ...observed, drift: observed.drift.filter(({ byConfig }) => !byConfig) };
}

async function report(
  services: Services,
  machine: Machine,
  verdict: Verdict,
  observed: Observed | undefined,
  context: Context,
  before = machine.status?.phase,
): Promise<void> {
  const status = describeStatus(machine, verdict, observed, services.clock.now());
  const changed = await writeStatus(services.kube, Machine, machine, status, context.signal, { locked: true });
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
  if (status.phase === 'Failed') services.events.record(machine, 'Warning', 'Parked', describeMessage(verdict));
  tellOfChange(services, machine, before, status, context.log);
}

/** A finished machine that nothing can be done for, e.g. since the key of its platform is missing. Its node may serve. */
async function reportServing(
  services: Services,
  machine: Machine,
  saved: Progress,
  error: ProviderError,
  context: Context,
): Promise<Result> {
  const node = {
    facts: saved.facts,
    openTalos: (address: string) => services.targets.talos(clusterOf(machine), address),
  };
  const trouble = { reason: error.code, message: error.message };
  const member = membershipOf(services, machine, saved.facts, context.signal);
  const observed = await observeWithoutPlatform(trouble, node, member);
  const progress = asMade(saved, services.clock.now());
  await report(services, machine, { kind: 'finished', progress }, observed, context);
  return { againInSeconds: blockedSeconds };
}

/** The walk cannot even begin: say so where people look, and try again. */
async function reportBlocked(
  services: Services,
  machine: Machine,
  plan: Progress['plan'],
  error: ProviderError,
  context: Context,
): Promise<Result> {
  const progress = savedProgress(machine) ?? {
    plan,
    step: '',
    since: services.clock.now().toISOString(),
    failures: 0,
    facts: {},
  };
  const verdict: Verdict = {
    kind: 'failed',
    progress: { ...progress, plan },
    seconds: blockedSeconds,
    reason: error.code,
    message: error.message,
  };
  const status = describeStatus(machine, verdict, undefined, services.clock.now());
  // The record stays as it was: nothing was walked.
  const { progress: saved } = machine.status ?? {};
  const { progress: _, ...rest } = status;
  const told = saved ? { ...rest, progress: saved } : rest;
  await writeStatus(services.kube, Machine, machine, told, context.signal, { locked: true });
  return { againInSeconds: verdict.seconds };
}
