import type { MachineJson, PlanJson, StepJson } from '../api-types.ts';
import { formatClock, formatSeconds } from './format.ts';
import { Age, Bar, Cause, ClusterLink, Conditions, Events, Fact, Section } from './parts.tsx';
import { secondsIn } from './progress-line.tsx';

interface MachineProps {
  readonly machine: MachineJson;
  readonly now: number;
}

export const MachinePage = ({ machine, now }: MachineProps) => (
  <>
    <header class="headline">
      <p class="trail">
        <a href="#/clusters">Clusters</a> / <ClusterLink {...machine.cluster} />
      </p>
      <h1 tabIndex={-1}>
        {machine.name}{' '}
        <span class={`pill ${machine.isReady ? 'ready' : machine.phase === 'Failed' ? 'unhealthy' : 'creating'}`}>
          {machine.phase || 'New'}
        </span>
      </h1>
      {machine.cause ? <Cause cause={machine.cause} now={now} /> : <p class="sub">{machine.message}</p>}
      <dl class="facts">
        <Fact name="Role">{machine.role === 'controlplane' ? 'control plane' : `worker, pool ${machine.pool}`}</Fact>
        <Fact name="Address">{machine.address && <code>{machine.address}</code>}</Fact>
        <Fact name="Kubernetes">{machine.kubernetesVersion}</Fact>
        <Fact name="Talos">{machine.talosVersion}</Fact>
        <Fact name="Platform">{machine.platform}</Fact>
        <Fact name="Size">{machine.size}</Fact>
        <Fact name="Failure domain">{machine.failureDomain}</Fact>
        <Fact name="Host">{machine.host}</Fact>
        <Fact name="ProviderConfig">{machine.config}</Fact>
        <Fact name="Age">{machine.createdAt && <Age since={machine.createdAt} now={now} />}</Fact>
      </dl>
      {machine.consoles.length > 0 && (
        <p class="consoles">
          {machine.consoles.map(({ name, url }) => (
            <a key={url} class="button" href={url} target="_blank" rel="noreferrer noopener">
              {name}
              <span class="hidden"> (opens the platform in a new tab)</span>
            </a>
          ))}
        </p>
      )}
    </header>
    {machine.plans.map((plan) => (
      <Steps key={plan.plan} plan={plan} now={now} isOverdue={machine.isOverdue} />
    ))}
    <Events events={machine.events} now={now} />
    <Conditions conditions={machine.conditions} now={now} />
  </>
);

const planNames: Readonly<Record<string, string>> = {
  provision: 'Creation',
  update: 'Update',
  repair: 'Repair',
  release: 'Deletion',
};

const Steps = ({ plan, now, isOverdue }: { plan: PlanJson; now: number; isOverdue: boolean }) => {
  const longest = Math.max(1, ...plan.steps.map((step) => secondsIn(step, now) ?? 0));
  const isUnseen = plan.steps.some(({ state }) => state === 'unseen');
  return (
    <Section
      title={planNames[plan.plan] ?? plan.plan}
      note={plan.finishedAt && `finished ${formatClock(plan.finishedAt, now)}`}
    >
      <div class="scroll">
        <table class="steps">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" class="time">
                Start
              </th>
              <th scope="col" class="time">
                End
              </th>
              <th scope="col">Took</th>
              <th scope="col">Usually</th>
              <th scope="col">Tries</th>
            </tr>
          </thead>
          <tbody>
            {plan.steps.map((step) => (
              <StepRow key={step.name} step={step} now={now} longest={longest} isOverdue={isOverdue} />
            ))}
          </tbody>
        </table>
      </div>
      {isUnseen && <p class="empty">Steps without times were done before this process of the provider started.</p>}
    </Section>
  );
};

interface StepRowProps {
  readonly step: StepJson;
  readonly now: number;
  /** Seconds of the longest step of the plan. */
  readonly longest: number;
  readonly isOverdue: boolean;
}

const stateNames = { done: 'done', unseen: 'done', current: 'now', next: 'not yet' } as const;

const StepRow = ({ step, now, longest, isOverdue }: StepRowProps) => {
  const seconds = secondsIn(step, now);
  const isLate = step.state === 'current' && isOverdue;
  return (
    <tr class={step.state} aria-current={step.state === 'current' ? 'step' : undefined}>
      <th scope="row">
        <span class={`mark ${step.state}${isLate ? ' overdue' : ''}`} />
        <code>{step.name}</code>
        <span class="hidden"> {stateNames[step.state]}</span>
      </th>
      <td class="number time">{step.startedAt && formatClock(step.startedAt, now)}</td>
      <td class="number time">{step.endedAt && formatClock(step.endedAt, now)}</td>
      <td class="took">
        {seconds !== undefined && (
          <>
            <Bar
              share={seconds / longest}
              label=""
              tone={isLate ? 'unhealthy' : step.state === 'current' ? 'creating' : 'neutral'}
            />
            <span class="number">{formatSeconds(seconds)}</span>
          </>
        )}
      </td>
      <td class="number">{step.usualSeconds !== undefined && formatSeconds(step.usualSeconds)}</td>
      <td class="number">{step.tries}</td>
    </tr>
  );
};
