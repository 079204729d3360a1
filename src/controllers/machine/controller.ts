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
import { clusterOf } from '../cluster/view.ts';
import { followPublished } from '../nodes/follow.ts';
import { dropFinalizer, ensureFinalizer, saveStatus, takeOperation, writeStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { openWorkplace, type Workplace } from './context.ts';
import { describeMessage, describeStatus, phases } from './describe.ts';
import { releaseOf } from './leave-etcd.ts';
import { giveUp, isGivenUp } from './lost-place.ts';
import { notSeen, type Observed, observeMachine } from './observe.ts';
import { recoverWhileWaiting } from './recover.ts';
import { asMade, type Hands, isMade, keepUp } from './upkeep.ts';
import type { Vigil } from './vigil.ts';

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
  const machine = await services.kube.find(Machine, key, context.signal);
  if (machine?.spec.providerRef.name !== services.provider) return {};
  if ((await takeOperation(services.kube, Machine, machine, context.signal)) === 'ignore') return {};
  if (!machine.metadata.deletionTimestamp) {
    const held = await ensureFinalizer(services.kube, Machine, machine, finalizers.machine, context.signal);
    return held ? await walk(services, held, 'provision', context) : {};
  }
  if (!machine.metadata.finalizers?.includes(finalizers.machine)) return {};
  return await walk(services, machine, 'release', context);
}

async function walk(services: Services, machine: Machine, plan: Progress['plan'], context: Context): Promise<Result> {
  let workplace: Workplace;
  try {
    workplace = openWorkplace(services, machine, context.signal, context.log);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (plan === 'release' && isGivenUp(services, machine, error))
      return await giveUp(services, machine, context.signal);
    return await reportBlocked(services, machine, plan, error, context);
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
  if (plan === 'release') return await letGo(services, machine, context);
  const kept = await keepUp(services, machine, verdict.progress, handsOf(services, machine, workplace, context));
  await report(services, machine, kept.verdict, kept.observed, context);
  return { againInSeconds: kept.seconds };
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

async function letGo(services: Services, machine: Machine, context: Context): Promise<Result> {
  services.events.record(machine, 'Normal', 'Released', 'The machine was taken down.');
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
    plan === 'provision' ? provisionOf(platform, machine) : releaseOf(services, machine, platform);
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
  return await advance<C>({
    plan,
    steps,
    progress: savedProgress(machine),
    context: contextOf,
    save: (progress) => saveProgress(services, machine, progress, context),
    observer: (step, end, seconds) =>
      services.observer.step({ platform: workplace.platform.name, plan, step }, end, seconds),
    // Addresses are claimed where the record is kept: at an API server that fails, neither is to be had.
    concernsRecord: (error) => isPassing(error) || isConflict(error),
    clock: services.clock,
    signal: context.signal,
  });
}

const provisionOf = (platform: Platform, machine: Machine): readonly Step<TalosStepContext>[] => {
  const watched = joinSteps.map((step) => recoverWhileWaiting(step, machine, platform));
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
async function saveProgress(services: Services, machine: Machine, progress: Progress, context: Context): Promise<void> {
  // A machine that was put right is again one that was made, in the same breath.
  const record = progress.plan === 'mend' && progress.finishedAt ? asMade(progress, services.clock.now()) : progress;
  const before = machine.status?.progress;
  const isNew = !progress.finishedAt && (before?.step !== progress.step || before.plan !== progress.plan);
  const begun = {
    phase: phases[progress.plan],
    message: `${progress.step}: begun.`,
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
  const cluster = clusterOf(machine);
  const isReady = async (): Promise<boolean> => {
    await followPublished(services, cluster, signal);
    return services.nodes.isReady(cluster, machine.metadata.name);
  };
  try {
    return await observeMachine(workplace, workplace.context(progress.facts), isReady);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) return notSeen(error);
    throw error;
  }
}

async function report(
  services: Services,
  machine: Machine,
  verdict: Verdict,
  observed: Observed | undefined,
  context: Context,
): Promise<void> {
  const status = describeStatus(machine, verdict, observed, services.clock.now());
  const before = machine.status?.phase;
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
  if (status.phase === 'Ready')
    services.events.record(machine, 'Normal', 'Joined', 'The node is a healthy member of its cluster.');
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
    seconds: 60,
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
