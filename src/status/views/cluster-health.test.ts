import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { assessCluster } from './cluster-health.ts';

const fleet = new StatusFleet();
const notReady = (reason: string, message = '') => fleet.condition('Ready', 'False', { reason, message });
const assess = (...all: Parameters<StatusFleet['cluster']>) => assessCluster(fleet.cluster(...all), []);

it('a ready cluster without a false condition is ready', () => {
  expect(assess('a')).toEqual({ health: 'ready', isProblem: false });
});

it('a ready cluster whose backup fails needs attention, with the reason of it', () => {
  const backup = fleet.condition('BackedUp', 'False', { reason: 'BackupFailed', message: 'No access.' });
  expect(assess('a', { conditions: [fleet.condition('Ready', 'True'), backup] })).toMatchObject({
    health: 'attention',
    isProblem: true,
    cause: { reason: 'BackupFailed', message: 'No access.' },
  });
});

it.each(['UpdatePending', 'Updating'])('a ready cluster in a rollout is ready: %s', (reason) => {
  const upToDate = fleet.condition('UpToDate', 'False', { reason });
  expect(assess('a', { conditions: [fleet.condition('Ready', 'True'), upToDate] }).health).toBe('ready');
});

it('a cluster that was reachable before is unhealthy, another one is in creation', () => {
  const conditions = [notReady('WaitingForEndpoint')];
  expect(assess('a', { conditions })).toMatchObject({ health: 'unhealthy', isProblem: true });
  expect(assess('a', { conditions, isReachable: false })).toMatchObject({ health: 'creating', isProblem: false });
});

it('a cluster in deletion is no problem while its machines are released', () => {
  const metadata = { deletionTimestamp: fleet.ago(10) };
  expect(assess('a', { metadata, conditions: [notReady('WaitingForMachines')] })).toMatchObject({
    health: 'deleting',
    isProblem: false,
  });
});

it.each([
  ['waits in a step', 'StepWaiting', 'Provisioning', false],
  ['is retried', 'StepError', 'Provisioning', false],
  ['takes longer than expected', 'Overdue', 'Provisioning', true],
  ['waits for memory', 'InsufficientMemory', 'Provisioning', true],
  ['has failed', 'StepWaiting', 'Failed', true],
])('a creation with a machine that %s', (_, reason, phase, isProblem) => {
  const cluster = fleet.cluster('a', { isReachable: false, conditions: [notReady('WaitingForMachines')] });
  const machine = fleet.machine(cluster, 0, { phase, conditions: [notReady(reason, 'It waits.')] });
  const assessment = assessCluster(cluster, [machine]);
  expect(assessment).toMatchObject({ health: 'creating', isProblem });
  if (isProblem) expect(assessment.cause?.message).toBe(`${machine.metadata.name}: It waits.`);
});

it('a long message is shortened', () => {
  const { cause } = assess('a', { conditions: [notReady('InternalError', 'x'.repeat(40_000))] });
  expect(cause?.message).toHaveLength(600);
});
