import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import type { HostState } from '../../engine/host.ts';
import { explainHost } from './explain-host.ts';

const fleet = new StatusFleet();
const ready = [fleet.condition('Ready', 'True')];
const unusable = (type: string, reason: string, message: string) => [
  fleet.condition(type, 'False', { reason, message }),
  fleet.condition('Ready', 'False', { reason, message }),
];
const explain = (state: HostState, status: object) => explainHost(fleet.host('rack-7', state, status));

it('a free Host waits for nothing', () => {
  expect(explain('Available', { conditions: ready })).toMatchObject({
    is: 'the server rack-7',
    state: 'free: a Machine can claim it',
    isReady: true,
    findings: [],
    nextStep: 'Nothing.',
  });
});

it('a Host in use names the Machine that holds it, and since when', () => {
  const machineRef = { name: 'prod-cp-0', uid: 'u', since: fleet.ago(60) };
  expect(explain('Provisioned', { conditions: ready, machineRef })).toMatchObject({
    is: 'the server rack-7, held by Machine prod-cp-0',
    state: 'in use',
    since: fleet.ago(60),
    findings: [],
  });
});

it.each([
  ['is not the server that it describes', 'Pending', 'Identified', 'NotIdentified', /^Correct spec\.expect/],
  ['is in maintenance', 'Maintenance', 'Usable', 'InMaintenance', /^End the maintenance/],
  ['has no disk that may be used', 'Pending', 'Usable', 'NoUsableDisk', /^Do what the message says/],
  ['is described twice', 'Pending', 'Usable', 'SameServer', /^Delete one of the two Hosts/],
  ['has lost its Machine', 'Failed', 'Usable', 'MachineGone', /^Decide about the further use/],
  ['is used by nobody', 'Pending', 'Usable', 'NotUsed', /create a ProviderConfig/],
] as const)('a Host that %s', (_, state, type, reason, nextStep) => {
  const explained = explain(state, { conditions: unusable(type, reason, 'Because.') });
  expect(explained).toMatchObject({ isReady: false, guide: 'docs/troubleshoot.md#host' });
  expect(explained.findings).toMatchObject([{ condition: type, reason, message: 'Because.' }]);
  expect(explained.nextStep).toMatch(nextStep);
});

it('a task that runs is named with its step', () => {
  const task = { plan: 'inspect', step: 'rescue-started', since: fleet.ago(90), failures: 1, facts: {} };
  const { findings } = explain('Available', { conditions: ready, task, message: 'The server boots.' });
  expect(findings).toMatchObject([
    { message: 'The server boots.', step: { name: 'rescue-started', plan: 'inspect', failures: 1 } },
  ]);
});

it('a Host without a status was never reconciled', () => {
  const { status: _, ...host } = fleet.host('rack-7', 'Pending');
  expect(explainHost(host)).toMatchObject({
    state: 'not reconciled yet',
    guide: 'docs/troubleshoot.md#nothing-happens',
  });
});
