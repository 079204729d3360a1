import type { Machine } from '../../api/machine.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Facts } from '../../engine/step.ts';
import { joinSteps } from '../../talos/join-steps.ts';
import { updateStepsOf } from '../../talos/update/update-steps.ts';
import type { PlanJson, StepJson } from '../api-types.ts';
import type { StepRecord } from '../step-history.ts';
import type { StatusSources } from './status-sources.ts';

type StepSources = Pick<StatusSources, 'platforms' | 'history'>;
type Plan = StepRecord['plan'];

/** More than any list of steps. */
const maxSteps = 64;

/** The plan that a machine runs, with every step; undefined when all of its steps are done. */
export function describeCurrentPlan(sources: StepSources, machine: Machine): PlanJson | undefined {
  const { progress } = machine.status ?? {};
  return progress && progress.step !== '' && !progress.finishedAt
    ? describePlan(sources, machine, progress.plan)
    : undefined;
}

/** Every plan of which something is known: the one that runs, or ran last, first. */
export function describePlans(sources: StepSources, machine: Machine): PlanJson[] {
  const { progress } = machine.status ?? {};
  const seen = sources.history.of(machine).map(({ plan }) => plan);
  const plans = [...(progress ? [progress.plan] : []), ...[...seen].reverse()];
  return [...new Set(plans)].map((plan) => describePlan(sources, machine, plan));
}

function describePlan({ platforms, history }: StepSources, machine: Machine, plan: Plan): PlanJson {
  const { progress } = machine.status ?? {};
  const current = progress?.plan === plan ? progress : undefined;
  const records = latestByStep(history.of(machine).filter((record) => record.plan === plan));
  const platform = platforms.find(({ name }) => name === machine.spec.platform);
  const names = stepNames(platform, plan, { machine, records, current: current?.step });
  const position = current && current.step !== '' ? names.indexOf(current.step) : names.length;
  const steps = names.map((name, index): StepJson => {
    const usual = history.usualSeconds(machine, plan, name);
    const known = records.get(name);
    const usualSeconds = usual === undefined ? {} : { usualSeconds: Math.round(usual) };
    if (index > position) return { name, state: 'next', ...usualSeconds };
    if (index === position && current) {
      const tries = Math.max(known?.tries ?? 1, current.failures + 1);
      return { name, state: 'current', startedAt: current.since, tries, ...usualSeconds };
    }
    if (!known?.endedAt) return { name, state: 'unseen', ...usualSeconds };
    const { startedAt, endedAt, tries } = known;
    return { name, state: 'done', startedAt, endedAt, tries, ...usualSeconds };
  });
  return { plan, steps, ...(current?.finishedAt ? { finishedAt: current.finishedAt } : {}) };
}

const latestByStep = (records: readonly StepRecord[]): ReadonlyMap<string, StepRecord> =>
  new Map(records.map((record) => [record.step, record]));

interface KnownSteps {
  readonly machine: Machine;
  readonly records: ReadonlyMap<string, StepRecord>;
  readonly current: string | undefined;
}

/**
 * The steps of a plan in their order. Steps that were seen and are not in the list of the platform are those around it,
 * e.g. the drain before a release: they come first until a step of the list was seen, and last afterwards.
 */
function stepNames(platform: Platform | undefined, plan: Plan, { machine, records, current }: KnownSteps): string[] {
  const facts = (machine.status?.progress?.facts ?? {}) as Facts;
  const isShown = (step: { readonly name: string; isNeeded?(facts: Facts): boolean }): boolean =>
    records.has(step.name) || step.name === current || (step.isNeeded?.(facts) ?? true);
  const listed = platform
    ? plannedSteps(platform, plan)
        .filter(isShown)
        .map(({ name }) => name)
    : [];
  const seen = [...records.keys(), ...(current ? [current] : [])];
  const first = seen.findIndex((name) => listed.includes(name));
  const isForeign = (name: string): boolean => !listed.includes(name);
  const before = (first < 0 ? seen : seen.slice(0, first)).filter(isForeign);
  const after = (first < 0 ? [] : seen.slice(first)).filter(isForeign);
  return [...new Set([...before, ...listed, ...after])].slice(0, maxSteps);
}

type NamedStep = { readonly name: string; isNeeded?(facts: Facts): boolean };

function plannedSteps(platform: Platform, plan: Plan): readonly NamedStep[] {
  if (plan === 'provision') return [...platform.provision, ...joinSteps, ...platform.postJoin];
  if (plan === 'release') return platform.release;
  if (plan === 'repair') return platform.repair?.steps ?? [];
  return updateStepsOf(platform.hardware);
}
