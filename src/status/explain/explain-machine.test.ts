import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { explainMachine } from './explain-machine.ts';

const fleet = new StatusFleet();
const sources = { platforms: fleet.sources().platforms };
const cluster = fleet.cluster('prod');

const waiting = (type: string, reason: string, message: string) => [
  fleet.condition(type, 'False', { reason, message, seconds: 600 }),
  fleet.condition('Ready', 'False', { reason, message, seconds: 600 }),
];
type MachineChange = Parameters<StatusFleet['machine']>[2];
const explain = (machine: MachineChange) => explainMachine(sources, fleet.machine(cluster, 0, machine));
const inStep = (step: string, plan = 'provision', failures = 0) =>
  ({ plan, step, failures, since: fleet.ago(180), finishedAt: undefined }) as never;

it('a ready Machine waits for nothing', () => {
  const { is, state, isReady, findings, nextStep, guide } = explain({});
  expect({ is, state, isReady, findings, nextStep, guide }).toEqual({
    is: 'a control plane of Cluster shop/prod',
    state: 'ready',
    isReady: true,
    findings: [],
    nextStep: 'Nothing.',
    guide: undefined,
  });
});

it.each([
  ['waits in a step', 'Provisioning', 'StepWaiting', 'being created', /^Nothing: /],
  ['is retried', 'Provisioning', 'StepError', 'being created', /^Nothing at first/],
  ['is overdue', 'Provisioning', 'Overdue', 'being created', /^Look at the console/],
  ['has failed', 'Failed', 'PoolFull', 'stopped until a user acts', /^Do what the message says/],
  ['is being changed', 'Updating', 'StepWaiting', 'being changed', /^Nothing: /],
  ['is released', 'Releasing', 'Releasing', 'being deleted', /^Nothing: /],
  ['is off', 'Degraded', 'PoweredOff', 'not as it should be', /^Do what the message says/],
  ['has a phase of a later version', 'Resting', 'StepWaiting', 'not ready', /^Nothing: /],
])('a Machine that %s', (_, phase, reason, state, nextStep) => {
  const explained = explain({ phase, conditions: waiting('Provisioned', reason, 'Because.') });
  expect(explained).toMatchObject({ state, isReady: false, guide: 'docs/troubleshoot.md#machine' });
  expect(explained.findings).toMatchObject([{ condition: 'Provisioned', reason, message: 'Because.' }]);
  expect(explained.nextStep).toMatch(nextStep);
});

it('the step is named once, with its failures', () => {
  const conditions = waiting('Provisioned', 'StepError', 'vm-created: The system does not answer.');
  const { findings } = explain({ phase: 'Provisioning', conditions, progress: inStep('vm-created', 'provision', 3) });
  expect(findings[0]).toMatchObject({
    message: 'The system does not answer.',
    step: { name: 'vm-created', plan: 'provision', since: fleet.ago(180), failures: 3 },
  });
});

it.each(['provision', 'update', 'repair', 'release'])('a step that no list of %s has is named, too', (plan) => {
  const conditions = waiting('Healthy', 'StepWaiting', 'It waits.');
  const { findings } = explain({ conditions, progress: inStep('of-a-later-version', plan) });
  expect(findings[0]?.step).toEqual({ name: 'of-a-later-version', plan, since: fleet.ago(180), failures: 0 });
});

it('a ready Machine with a pending change says what that waits for', () => {
  const upToDate = fleet.condition('UpToDate', 'False', { reason: 'RolloutPaused', message: 'It is paused.' });
  const pending = fleet.condition('UpToDate', 'False', { reason: 'UpdatePending', message: 'Others come first.' });
  const ready = fleet.condition('Ready', 'True');
  expect(explain({ conditions: [ready, upToDate] }).nextStep).toMatch(/^Remove the annotation rollout: pause/);
  expect(explain({ conditions: [ready, pending] })).toMatchObject({
    state: 'ready',
    isReady: true,
    findings: [{ reason: 'UpdatePending', message: 'Others come first.' }],
  });
});

it('a Machine without a status was never reconciled', () => {
  const { status: _, ...machine } = fleet.machine(cluster, 0);
  expect(explainMachine(sources, machine)).toMatchObject({
    state: 'not reconciled yet',
    guide: 'docs/troubleshoot.md#nothing-happens',
    nextStep: 'Check that the provider runs and has a leader.',
  });
});

it('a long message is shortened', () => {
  const { findings } = explain({ conditions: waiting('Provisioned', 'StepError', 'x'.repeat(4000)) });
  expect(findings[0]?.message).toHaveLength(600);
});
