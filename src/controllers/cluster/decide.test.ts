import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, aSpec } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  provisioned,
  ready,
  requesting,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import { summarizeReady } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import { clusterRecordKey, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import { decideCluster, describeClusterConditions, findBootstrapCandidate } from './decide.ts';
import type { ClusterView } from './view.ts';

const withWorkers = (replicas: number) =>
  aSpec((raw) => Object.assign(raw, { workerPools: [{ name: 'work', replicas, size: 'small' }] }));

describe('the next action for a Cluster', () => {
  it.each<[string, ClusterView, string]>([
    ['secrets come before everything that uses them', aClusterView(), 'create-secrets'],
    [
      'then the endpoint: anEndpoint, because certificates and configurations name it',
      aClusterView({ secrets: someSecrets() }),
      'find-endpoint',
    ],
    [
      'then the machines, even if one of them provides the endpoint and its address is unknown',
      aClusterView({ secrets: someSecrets(), endpoint: { url: undefined, virtualAddress: undefined } }),
      'create-machines',
    ],
    [
      'then every missing machine',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, machines: [aMachine(1)] }),
      'create-machines',
    ],
    [
      'nothing while no control plane runs its installed system',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, machines: threeMachines([]) }),
      'settled',
    ],
    [
      'bootstrap as soon as one does',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, machines: threeMachines(provisioned) }),
      'bootstrap',
    ],
    [
      'no bootstrap of an empty etcd while a restore is requested',
      aClusterView({
        cluster: aCluster({}, { annotations: { [annotations.restore]: 'key' } }),
        secrets: someSecrets(),
        endpoint: anEndpoint,
        machines: threeMachines(provisioned),
      }),
      'settled',
    ],
    [
      'no second attempt in the same reconcile',
      aClusterView({
        secrets: someSecrets(),
        endpoint: anEndpoint,
        machines: threeMachines(provisioned),
        bootstrap: { done: false, message: 'x' },
      }),
      'settled',
    ],
    [
      'never again once members were observed',
      aClusterView({
        secrets: someSecrets({ bootstrappedAt: 'then' }),
        endpoint: anEndpoint,
        machines: threeMachines(provisioned),
      }),
      'prove',
    ],
    [
      'settled if the API server was probed',
      aClusterView({
        secrets: someSecrets({ bootstrappedAt: 'then' }),
        endpoint: anEndpoint,
        machines: threeMachines(),
        proof: { ok: true, version: '1.35.4' },
      }),
      'settled',
    ],
    [
      'no bootstrap, no machine and no deletion while etcd is restored, but a probe',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, spec: withWorkers(1), isRestoring: true }),
      'prove',
    ],
    [
      'nothing after the probe while etcd is restored',
      aClusterView({
        secrets: someSecrets({ bootstrappedAt: 'then' }),
        endpoint: anEndpoint,
        machines: [...threeMachines(), aMachine(0, ready, 'gone')],
        proof: { ok: true, version: '1.35.4' },
        isRestoring: true,
      }),
      'settled',
    ],
    [
      'a NodePool for each worker pool before its machines',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, spec: withWorkers(1) }),
      'create-node-pools',
    ],
    [
      'no NodePool and no machine whose name is taken',
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, spec: withWorkers(1), nameTaken: 'x' }),
      'settled',
    ],
    [
      'the deletion of a surplus machine, once the API server has answered',
      aClusterView({
        secrets: someSecrets({ bootstrappedAt: 'then' }),
        endpoint: anEndpoint,
        machines: [...threeMachines(), aMachine(0, ready, 'gone')],
        proof: { ok: true, version: '1.35.4' },
      }),
      'delete-machine',
    ],
    [
      'nothing for a surplus machine without an accepted spec',
      aClusterView({
        secrets: someSecrets({ bootstrappedAt: 'then' }),
        endpoint: anEndpoint,
        spec: undefined,
        machines: [...threeMachines(), aMachine(0, ready, 'gone')],
        proof: { ok: true, version: '1.35.4' },
      }),
      'settled',
    ],
    ['nothing if the version is not offered', aClusterView({ cluster: requesting('1.33.0') }), 'settled'],
  ])('%s', (_, given, expected) => {
    expect(decideCluster(given).kind).toBe(expected);
  });

  describe('the cluster record is written to both places before anything depends on it', () => {
    const known = someSecrets({ bootstrapMachine: 'one' });
    const recording = (record: unknown) => ({
      ...aCluster(),
      status: { observedGeneration: 1, phase: '', providerStatus: { [clusterRecordKey]: record } },
    });
    const noted = (annotations_: Record<string, string>): ClusterSecrets => ({
      ...known,
      object: { ...known.object, metadata: { ...known.object.metadata, annotations: annotations_ } },
    });
    const notes = { [annotations.kubernetesVersion]: '1.35.4', [annotations.bootstrapMachine]: 'one' };
    const unwritten = { recorded: undefined, endpoint: anEndpoint, machines: threeMachines(provisioned) };

    it.each<[string, ClusterView, string]>([
      ['the status lacks it', aClusterView({ ...unwritten, secrets: noted(notes) }), 'record'],
      [
        'the status has fewer fields',
        aClusterView({ ...unwritten, secrets: noted(notes), cluster: recording({ talosCa: known.talosCa }) }),
        'record',
      ],
      [
        'the Secret lacks it',
        aClusterView({ ...unwritten, secrets: noted({}), cluster: recording(toClusterRecord(known)) }),
        'record',
      ],
      [
        'both have it',
        aClusterView({ ...unwritten, secrets: noted(notes), cluster: recording(toClusterRecord(known)) }),
        'bootstrap',
      ],
    ])('%s', (_, given, expected) => {
      expect(decideCluster(given).kind).toBe(expected);
    });
  });

  it('reads a Secret from the API server that only the cache lacks, and does nothing else if it is gone', () => {
    const problem = { reason: 'SecretsMissing', message: 'Put it back.' } as const;
    expect(
      decideCluster(aClusterView({ secretsProblem: problem, machines: [aMachine(1)], endpoint: anEndpoint })).kind,
    ).toBe('seek-secrets');
    const gone = aClusterView({
      secretsProblem: problem,
      machines: [aMachine(1)],
      endpoint: anEndpoint,
      searched: true,
    });
    expect(decideCluster(gone).kind).toBe('settled');
    const states = describeClusterConditions(gone);
    expect(summarizeReady(states)).toMatchObject({
      status: 'False',
      reason: 'SecretsMissing',
      message: 'Put it back.',
    });
    expect(states).toContainEqual(expect.objectContaining({ type: 'EndpointReachable', status: 'Unknown' }));
  });

  it('creates no secrets for a Cluster in deletion', () => {
    const cluster = aCluster({}, { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['others'] });
    expect(decideCluster(aClusterView({ cluster })).kind).toBe('settled');
  });

  it('creates only the missing machines', () => {
    const decision = decideCluster(
      aClusterView({ secrets: someSecrets(), endpoint: anEndpoint, machines: [aMachine(1)] }),
    );
    expect(decision.kind === 'create-machines' && decision.slots.map((slot) => slot.slot)).toEqual([0, 2]);
  });
});

describe('the machine on which etcd is bootstrapped', () => {
  it('P44: is always the chosen one, even if another one is ready and it is not', () => {
    const machines = [aMachine(0, provisioned), aMachine(1, [])];
    const [, second] = machines;
    const chosen = someSecrets({ bootstrapMachine: second!.metadata.name });
    expect(findBootstrapCandidate(aClusterView({ secrets: chosen, machines }))).toBeUndefined();
    expect(
      findBootstrapCandidate(
        aClusterView({ secrets: chosen, machines: [aMachine(0, provisioned), aMachine(1, provisioned)] }),
      )?.metadata.name,
    ).toBe(second!.metadata.name);
  });

  it('is never a worker and never in deletion', () => {
    const leaving = aMachine(0, provisioned);
    leaving.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    expect(
      findBootstrapCandidate(
        aClusterView({ secrets: someSecrets(), machines: [leaving, aMachine(0, provisioned, 'work')] }),
      ),
    ).toBeUndefined();
  });
});
