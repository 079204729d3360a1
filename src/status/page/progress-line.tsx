import type { PlanJson, StepJson } from '../api-types.ts';
import { formatSeconds, formatShortSeconds, secondsBetween } from './format.ts';

interface LineProps {
  readonly plan: PlanJson;
  readonly now: number;
  readonly isOverdue: boolean;
}

/** Seconds in a step so far; undefined: not known. */
export const secondsIn = ({ startedAt, endedAt }: StepJson, now: number): number | undefined =>
  startedAt === undefined ? undefined : secondsBetween(startedAt, endedAt === undefined ? now : Date.parse(endedAt));

/** Much longer than usual: short steps differ a lot. */
const isSlow = (step: StepJson, now: number): boolean =>
  step.usualSeconds !== undefined && (secondsIn(step, now) ?? 0) > 60 + 3 * step.usualSeconds;

const describeStep = (step: StepJson, now: number): string => {
  const seconds = secondsIn(step, now);
  const usual = step.usualSeconds === undefined ? '' : `, usually ${formatSeconds(step.usualSeconds)}`;
  if (step.state === 'next') return `${step.name}: not yet${usual}`;
  return `${step.name}: ${seconds === undefined ? 'done' : formatSeconds(seconds)}${usual}`;
};

/** The steps of a plan as a line, each with its duration. */
export const ProgressLine = ({ plan, now, isOverdue }: LineProps) => {
  const position = plan.steps.findIndex(({ state }) => state === 'current');
  const current = plan.steps[position];
  return (
    <div class="progress">
      <ol class="line" aria-label={`Steps of the plan ${plan.plan}`}>
        {plan.steps.map((step) => {
          const seconds = secondsIn(step, now);
          return (
            <li
              key={step.name}
              class={`${step.state}${step.state === 'current' && isOverdue ? ' overdue' : ''}`}
              title={describeStep(step, now)}
              aria-current={step.state === 'current' ? 'step' : undefined}
            >
              <span class="hidden">{describeStep(step, now)}</span>
              <span class="duration" aria-hidden="true">
                {seconds === undefined ? '' : formatShortSeconds(seconds)}
              </span>
            </li>
          );
        })}
      </ol>
      {current && (
        <p class="step">
          <code>{current.name}</code>
          <span>
            step {position + 1} of {plan.steps.length}
          </span>
          <span class={isOverdue ? 'late' : isSlow(current, now) ? 'slow' : ''}>
            for {formatSeconds(secondsIn(current, now) ?? 0)}
          </span>
          {current.usualSeconds !== undefined && <span>usually {formatSeconds(current.usualSeconds)}</span>}
          {(current.tries ?? 1) > 1 && <span class="late">try {current.tries}</span>}
        </p>
      )}
    </div>
  );
};
