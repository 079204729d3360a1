import { describe, expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import type { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { explainCluster } from './explain-cluster.ts';

const fleet = new StatusFleet();
const { platforms } = fleet.sources();
const home = fleet.config('home');

const isFalse = (type: string, reason: string, message: string) =>
  fleet.condition(type, 'False', { reason, message, seconds: 600 });
/** A condition, and `Ready` that repeats it. */
const waiting = (type: string, reason: string, message: string) => [
  isFalse(type, reason, message),
  isFalse('Ready', reason, message),
];
const explain = (cluster: Cluster, machines: readonly Machine[] = [], config: ProviderConfig | undefined = home) =>
  explainCluster({ platforms, machines, config }, cluster);

const machines = waiting('MachinesReady', 'WaitingForMachines', '1 of 3 machines are ready.');
const creating = fleet.cluster('prod', { isReachable: false, conditions: machines });
const inStep = (slot: number, step: string, reason: string, message: string) =>
  fleet.machine(creating, slot, {
    phase: 'Provisioning',
    conditions: waiting('Provisioned', reason, `${step}: ${message}`),
    progress: { step, since: fleet.ago(180), finishedAt: undefined, failures: 0 } as never,
  });

it('a ready Cluster waits for nothing', () => {
  expect(explain(fleet.cluster('prod'))).toEqual({
    object: { kind: 'Cluster', namespace: 'shop', name: 'prod' },
    is: 'a cluster of profile test.talos.home',
    state: 'ready',
    isReady: true,
    since: fleet.ago(3600),
    findings: [],
    nextStep: 'Nothing.',
  });
});

describe('a Cluster in creation', () => {
  it('waits for the step of the first Machine that is not ready', () => {
    const ready = fleet.machine(creating, 0);
    const second = inStep(1, 'image-cached', 'StepWaiting', 'The image is being uploaded.');
    const third = inStep(2, 'await-talos-api', 'StepWaiting', 'The node is installing Talos.');
    const { state, isReady, findings, nextStep, guide } = explain(creating, [third, ready, second]);
    expect({ state, isReady, guide }).toEqual({
      state: 'being created',
      isReady: false,
      guide: 'docs/troubleshoot.md#machine',
    });
    expect(findings.map(({ object, reason }) => [object.name, reason])).toEqual([
      ['prod', 'WaitingForMachines'],
      [second.metadata.name, 'StepWaiting'],
    ]);
    // The name of the step is not repeated in the message.
    expect(findings[1]).toMatchObject({ condition: 'Provisioned', message: 'The image is being uploaded.' });
    expect(findings[1]?.step).toMatchObject({ name: 'image-cached', plan: 'provision', since: fleet.ago(180) });
    expect(nextStep).toBe('Nothing: it goes on by itself.');
  });

  it('waits for the Machine that a user has to look at, before any other', () => {
    const second = inStep(1, 'image-cached', 'StepWaiting', 'The image is being uploaded.');
    const third = inStep(2, 'vm-created', 'InsufficientMemory', 'The system has too little memory.');
    const { findings, nextStep } = explain(creating, [second, third]);
    expect(findings.at(-1)).toMatchObject({ object: { name: third.metadata.name }, reason: 'InsufficientMemory' });
    expect(nextStep).toBe('Do what the message says.');
  });

  it('waits for a Machine without a status', () => {
    const { status: _, ...fresh } = fleet.machine(creating, 0);
    const { findings, nextStep } = explain(creating, [fresh]);
    expect(findings[1]).toMatchObject({ object: { name: fresh.metadata.name }, message: 'It is not reconciled yet.' });
    expect(nextStep).toBe('Nothing at first. If it stays, read the log of the provider.');
  });

  it('knows after which time a step counts as overdue', () => {
    const timed = platforms
      .flatMap(({ name, provision }) => provision.map((step) => ({ name, step })))
      .find(({ name, step }) => name === 'truenas' && step.deadlineMinutes !== undefined);
    const { findings } = explain(creating, [inStep(1, timed?.step.name ?? '', 'StepWaiting', 'It runs.')]);
    expect(findings[1]?.step?.deadlineMinutes).toBe(timed?.step.deadlineMinutes);
    expect(timed?.step.deadlineMinutes).toBeGreaterThan(0);
  });

  it('waits for its ProviderConfig, if that is not ready', () => {
    const message = 'ProviderConfig home is not ready.';
    const conditions = waiting('Accepted', 'ProviderConfigNotReady', message);
    const broken = fleet.config('home', undefined, {
      conditions: waiting('CredentialsValid', 'CredentialsMissing', 'There is no Secret nas.'),
    });
    const { findings, nextStep, guide } = explain(
      fleet.cluster('prod', { isReachable: false, conditions }),
      [],
      broken,
    );
    expect(findings.at(-1)).toMatchObject({
      object: { kind: 'ProviderConfig', name: 'home' },
      condition: 'CredentialsValid',
      message: 'There is no Secret nas.',
    });
    expect(nextStep).toMatch(/^Create the Secret/);
    expect(guide).toBe('docs/troubleshoot.md#providerconfig');
  });

  it('says what its own condition says, if no Machine is the cause', () => {
    const conditions = waiting('MachinesReady', 'AddressPoolExhausted', 'network.addressPool has no free address.');
    const { findings, nextStep } = explain(fleet.cluster('prod', { isReachable: false, conditions }));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ condition: 'MachinesReady', since: fleet.ago(600) });
    expect(nextStep).toMatch(/^Enlarge network\.addressPool/);
  });
});

describe('a Cluster without a status', () => {
  const cluster = { ...fleet.cluster('prod'), status: undefined } as unknown as Cluster;

  it('has a profile that no ProviderConfig has', () => {
    const { state, nextStep, guide } = explainCluster({ platforms, machines: [], config: undefined }, cluster);
    expect(state).toBe('not reconciled yet');
    expect(nextStep).toMatch(/^Check spec\.profile: .* test\.talos\.home\.$/);
    expect(guide).toBe('docs/troubleshoot.md#nothing-happens');
  });

  it('has a provider that does not run', () => {
    expect(explain(cluster).nextStep).toBe('Check that the provider runs and has a leader.');
  });
});

describe('a running Cluster', () => {
  const isReady = fleet.condition('Ready', 'True');

  it('is ready, and its backup fails', () => {
    const conditions = [isReady, isFalse('BackedUp', 'BackupFailed', 'The bucket does not exist.')];
    const { state, isReady: ready, findings } = explain(fleet.cluster('prod', { conditions }));
    expect({ state, ready }).toEqual({ state: 'ready, and something about it is not as it should be', ready: true });
    expect(findings[0]).toMatchObject({ condition: 'BackedUp', reason: 'BackupFailed' });
  });

  it('is ready, and is being changed', () => {
    const conditions = [isReady, isFalse('UpToDate', 'Updating', 'prod-cp-0 restarts.')];
    const { state, findings, nextStep } = explain(fleet.cluster('prod', { conditions }));
    expect(state).toBe('ready');
    expect(findings[0]?.message).toBe('prod-cp-0 restarts.');
    expect(nextStep).toBe('Nothing: it goes on by itself.');
  });

  it('was ready: a silent API server is explained by a Machine only if that has stopped', () => {
    const conditions = waiting('EndpointReachable', 'WaitingForEndpoint', 'It does not answer.');
    const cluster = fleet.cluster('prod', { conditions });
    const passing = fleet.machine(cluster, 0, { conditions: waiting('Joined', 'StepWaiting', 'It boots.') });
    const failed = fleet.machine(cluster, 1, { phase: 'Failed', conditions: waiting('Healthy', 'PoweredOff', 'Off.') });
    expect(explain(cluster, [passing]).state).toBe('not ready, although its API server has answered before');
    expect(explain(cluster, [passing]).findings.map(({ object }) => object.kind)).toEqual(['Cluster']);
    expect(explain(cluster, [passing, failed]).findings.at(-1)?.object.name).toBe(failed.metadata.name);
  });
});

describe('a Cluster whose etcd may have no quorum', () => {
  const silent = isFalse('EndpointReachable', 'WaitingForEndpoint', 'It does not answer.');
  const conditions = [silent, ...waiting('MachinesReady', 'WaitingForMachines', '1 of 3 are ready.')];
  const cluster = fleet.cluster('prod', { conditions });
  const [first, second, third] = [0, 1, 2].map((slot) => ({
    ready: fleet.machine(cluster, slot),
    booting: fleet.machine(cluster, slot, { conditions: waiting('Joined', 'StepWaiting', 'etcd does not run.') }),
  }));
  const guide = 'docs/operate.md#etcd-lost-its-quorum';

  it('is led to the restore when half of its control planes do not work', () => {
    const advice = explain(cluster, [first?.booting, second?.booting, third?.ready] as Machine[]);
    expect(advice).toMatchObject({ guide, nextStep: expect.stringContaining('restore etcd from a backup') });
    expect(advice.findings.at(-1)?.object.name).toBe(first?.booting.metadata.name);
  });

  it('is not while a majority works, or before it was ready for the first time', () => {
    expect(explain(cluster, [first?.booting, second?.ready, third?.ready] as Machine[]).nextStep).toMatch(/^Nothing: /);
    const fresh = fleet.cluster('prod', { isReachable: false, conditions });
    expect(explain(fresh, [first?.booting, second?.booting] as Machine[]).nextStep).toMatch(/^Nothing: /);
  });

  it('waits for a restore that was asked for, not for Machines', () => {
    const wanted = isFalse('EtcdRestored', 'RestoreNotApproved', 'Everything after 02:30 is lost.');
    const { findings, ...advice } = explain(fleet.cluster('prod', { conditions: [...conditions, wanted] }), [
      first?.booting,
    ] as Machine[]);
    expect(findings.map(({ reason }) => reason)).toEqual(['RestoreNotApproved']);
    expect(advice).toMatchObject({ guide, nextStep: expect.stringContaining('approve it') });
  });
});

describe('a Cluster in deletion', () => {
  const metadata = { deletionTimestamp: fleet.ago(60) };

  it('waits for others that need it, not for Machines', () => {
    const conditions = waiting('ForeignFinalizersGone', 'WaitingForDeletion', 'Still needed by a/b.');
    const cluster = fleet.cluster('prod', { metadata, conditions });
    const machine = fleet.machine(cluster, 0, { conditions: waiting('Joined', 'StepWaiting', 'It boots.') });
    const { state, since, findings } = explain(cluster, [machine]);
    expect({ state, since }).toEqual({ state: 'being deleted', since: fleet.ago(60) });
    expect(findings.map(({ condition }) => condition)).toEqual(['ForeignFinalizersGone']);
  });

  it('waits for the Machine that is being released', () => {
    const conditions = waiting('MachinesReady', 'WaitingForDeletion', 'Deleting prod-cp-0.');
    const cluster = fleet.cluster('prod', { metadata, conditions });
    const machine = fleet.machine(cluster, 0, {
      phase: 'Releasing',
      conditions: waiting('Provisioned', 'DrainBlocked', 'A PodDisruptionBudget blocks.'),
    });
    expect(explain(cluster, [machine]).findings.at(-1)).toMatchObject({ reason: 'DrainBlocked' });
  });
});
