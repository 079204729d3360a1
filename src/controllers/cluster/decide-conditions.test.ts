import { describe, expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  provisioned,
  ready,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import { summarizeReady } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { decideCluster, decideRequeueAfterSeconds, describeClusterConditions } from './decide.ts';

describe('the conditions of a Cluster', () => {
  it('are Ready only after a probe in this reconcile', () => {
    const almost = aClusterView({
      secrets: someSecrets({ bootstrappedAt: 'then' }),
      endpoint: anEndpoint,
      machines: threeMachines(),
    });
    expect(
      describeClusterConditions(almost)
        .filter((state) => state.status !== 'True')
        .map((state) => state.type),
    ).toEqual(['EndpointReachable']);
    const proven = { ...almost, proof: { ok: true, version: '1.35.4' } as const };
    expect(describeClusterConditions(proven).every((state) => state.status === 'True')).toBe(true);
  });

  it('are not Ready if its secrets are damaged, which are not replaced', () => {
    const damaged = aClusterView({
      secretsProblem: { reason: 'SecretsDamaged', message: 'Restore it.' },
      machines: threeMachines(),
    });
    expect(decideCluster(damaged).kind).toBe('settled');
    expect(describeClusterConditions(damaged)).toContainEqual(
      expect.objectContaining({
        type: 'SecretsReady',
        status: 'False',
        reason: 'SecretsDamaged',
        message: 'Restore it.',
      }),
    );
  });

  it('report an empty address pool, and everything else waits', () => {
    const left = aClusterView({ secrets: someSecrets(), noAddress: 'network.addressPool: add some.' });
    expect(decideCluster(left).kind).toBe('settled');
    expect(summarizeReady(describeClusterConditions(left))).toMatchObject({
      status: 'False',
      reason: 'AddressPoolExhausted',
      message: 'network.addressPool: add some.',
    });
  });

  it('report that its Secret belongs to another Cluster, with a retry in a minute and no other action', () => {
    const problem = { reason: 'NameCollision', message: 'Secret s belongs to Cluster other/first.' } as const;
    const barred = aClusterView({ secretsProblem: problem });
    expect(decideCluster(barred)).toEqual({ kind: 'settled' });
    const states = describeClusterConditions(barred);
    expect(summarizeReady(states)).toMatchObject(problem);
    expect(decideRequeueAfterSeconds(barred, states, { isConnected: false, now: new Date() })).toBe(60);
  });

  it('report a name collision of one of its machines, while the others are reconciled', () => {
    const taken = { nameTaken: 'Machine m exists and belongs to Cluster other/first.' };
    const short = {
      secrets: someSecrets({ bootstrappedAt: 'then' }),
      endpoint: anEndpoint,
      machines: [0, 1].map((i) => aMachine(i, ready)),
    };
    const spec = aSpec((raw) => Object.assign(raw['controlPlane'] as object, { replicas: 3 }));
    expect(decideCluster(aClusterView({ spec, ...short })).kind).toBe('create-machines');
    expect(decideCluster(aClusterView({ spec, ...short, ...taken })).kind).toBe('prove');
    const proven = aClusterView({ spec, ...short, ...taken, proof: { ok: true, version: '1.35.4' } });
    expect(decideCluster(proven).kind).toBe('settled');
    const states = describeClusterConditions(proven);
    expect(summarizeReady(states)).toMatchObject({ reason: 'NameCollision', message: taken.nameTaken });
    expect(states).toContainEqual(expect.objectContaining({ type: 'EndpointReachable', status: 'True' }));
  });

  it('report the machines that are not ready, and why', () => {
    const machines = threeMachines();
    machines[2] = {
      ...aMachine(2),
      status: { ...aMachine(2).status!, message: 'await-talos-api: The node does not answer yet.' },
    };
    const state = describeClusterConditions(
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, machines }),
    ).find((s) => s.type === 'MachinesReady');
    expect(state?.message).toMatch(
      /^2 of 3 are ready\. prod-[a-z2-7]{8}-cp-2: await-talos-api: The node does not answer yet\.$/,
    );
  });
});

describe('surplus machines', () => {
  const one = { ...aSpec(), controlPlane: { ...aSpec().controlPlane, replicas: 1 } };
  const proven = {
    secrets: someSecrets({ bootstrappedAt: 'then' }),
    endpoint: anEndpoint,
    proof: { ok: true, version: '1.35.4' },
  } as const;
  const text = (machines: Machine[]) =>
    describeClusterConditions(aClusterView({ ...proven, spec: one, machines })).find(
      ({ type }) => type === 'MachinesReady',
    );

  it.each([
    ['ready', ready],
    ['not ready', provisioned],
  ])('do not make the Cluster less ready, whether they are ready or not: %s', (_, conditions) => {
    expect(text([aMachine(0, ready), aMachine(1, conditions)])).toMatchObject({
      status: 'True',
      message: expect.stringMatching(/^1 of 1 are ready\. To be deleted: prod-[a-z2-7]{8}-cp-1\.$/),
    });
  });

  it('are named beside the pending ones, with what their deletion waits for', () => {
    const state = text([aMachine(0, provisioned), aMachine(1, provisioned), aMachine(2, provisioned)]);
    expect(state).toMatchObject({ reason: 'WaitingForMachines' });
    expect(state?.message).toMatch(
      /^0 of 1 are ready\. prod-[a-z2-7]{8}-cp-0: [^.]+\. To be deleted: prod-[a-z2-7]{8}-cp-2, prod-[a-z2-7]{8}-cp-1\. prod-[a-z2-7]{8}-cp-0 is not ready\.$/,
    );
  });

  it('are named with their progress during their deletion and re-creation', () => {
    const going = aMachine(1, []);
    going.metadata.deletionTimestamp = '2026-11-21T10:00:00Z';
    going.status = { ...going.status!, message: 'etcd-left: It was removed from etcd, which is verified.' };
    expect(text([aMachine(0, ready), going])).toMatchObject({
      status: 'True',
      message: expect.stringMatching(
        /cp-1 is being deleted: etcd-left: It was removed from etcd, which is verified\.$/,
      ),
    });
    const alone = describeClusterConditions(
      aClusterView({ ...proven, machines: [aMachine(0, ready), going, aMachine(2, ready)] }),
    );
    expect(summarizeReady(alone).status).toBe('True');
  });
});
