import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Platform } from '../../../engine/platform.ts';
import { type Facts, type Step, type StepOutcome, waitWithReason } from '../../../engine/step.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { TalosStepContext } from '../../../talos/join-steps.ts';
import { approvalsOf } from './approvals.ts';

/** The step in which the node has not answered since its power-on. */
const unansweredStep = 'await-talos-api';
/**
 * The boot of Talos may hang before it reads its configuration. Talos normally answers half a minute after power-on,
 * before it writes to its disk: a node that is silent for this long is not installing either.
 */
const unansweredMinutes = 6;
/** If three power cycles do not help, more do not help either. */
const maxPowerCycles = 3;

/**
 * Wraps a step that waits for the node: the platform repairs the machine meanwhile. `controlPlanes`: the control planes
 * of its cluster.
 */
export function recoverWhileWaiting(
  step: Step<TalosStepContext>,
  machine: Machine,
  { repair }: Platform,
  controlPlanes: () => readonly Machine[] = () => [],
): Step<TalosStepContext> {
  if (!repair || approvalsOf(machine).maintenance) return step;
  const run = async (context: TalosStepContext): Promise<StepOutcome> => {
    const outcome = await step.run(context);
    if (outcome.kind !== 'wait') return outcome;
    try {
      const recovered = await repair.recover?.(context);
      if (recovered || step.name !== unansweredStep || !repair.cutPower) return recovered ?? outcome;
      const since = unansweredSince(machine, controlPlanes());
      return await cyclePower(context, outcome, since, repair.cutPower);
    } catch (error) {
      // The node may start anyway: the result of its step is more important.
      if (error instanceof ProviderError) return outcome;
      throw error;
    }
  };
  return { ...step, run };
}

type WaitOutcome = Extract<StepOutcome, { kind: 'wait' }>;

/** A worker can answer only after a control plane has signed its certificate. */
function unansweredSince({ spec, status }: Machine, controlPlanes: readonly Machine[]): string | undefined {
  const startedAt = status?.progress?.since;
  if (spec?.role === 'controlplane') return startedAt;
  const answered = controlPlanes.flatMap(({ status: of }) =>
    isConditionTrue(of?.conditions, 'Provisioned')
      ? (of?.conditions ?? []).filter(({ type }) => type === 'Provisioned').map((one) => one.lastTransitionTime)
      : [],
  );
  const [first] = answered.sort();
  if (startedAt === undefined || first === undefined) return undefined;
  return Date.parse(first) > Date.parse(startedAt) ? first : startedAt;
}

/**
 * Records the count, keyed by the time since which the node is silent, before the power is cut: a crash in between does
 * not lose a count.
 */
async function cyclePower(
  context: TalosStepContext,
  outcome: WaitOutcome,
  since: string | undefined,
  cutPower: (context: TalosStepContext) => Promise<StepOutcome | undefined>,
): Promise<StepOutcome> {
  const { facts, clock, log } = context;
  const times = Number(facts['powerCycles'] ?? 0);
  // A step result with its own reason needs another repair.
  if (since === undefined || outcome.reason !== undefined) return outcome;
  if (clock.now().getTime() - Date.parse(since) < unansweredMinutes * 60_000) return withPowerCycleHint(outcome, times);
  if (facts['powerCycledFor'] === since) return (await cutPower(context)) ?? withPowerCycleHint(outcome, times);
  if (times >= maxPowerCycles)
    return waitWithReason('NodeSilent', outcome.seconds, withPowerCycleHint(outcome, times).message);
  log.warn({ times: times + 1, of: maxPowerCycles }, 'the node does not answer, and its machine is power-cycled');
  const noted: Facts = { powerCycles: times + 1, powerCycledFor: since };
  return { ...outcome, seconds: 1, facts: { ...outcome.facts, ...noted } };
}

function withPowerCycleHint(outcome: WaitOutcome, times: number): WaitOutcome {
  if (times === 0) return outcome;
  const often = times === 1 ? 'once' : `${times} times`;
  const message = `${outcome.message} The machine was power-cycled ${often} because its node did not answer. Check its console.`;
  return { ...outcome, message };
}
