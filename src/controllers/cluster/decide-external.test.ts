import { describe, expect, it } from 'vitest';
import { aCluster, aSpec } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  ready,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import { annotations } from '../../api/names.ts';
import { clusterRecordKey, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import { decideCluster, describeClusterConditions } from './decide.ts';
import { describeClusterUpToDate } from './decide-cluster-rollout.ts';
import { describeClusterRotation } from './decide-cluster-rotation.ts';
import type { ClusterView } from './view.ts';

const bootstrapped = { bootstrappedAt: '2026-01-01T00:00:00Z', endpoint: anEndpoint.url };
const external = (change: Partial<ClusterView> = {}): ClusterView =>
  aClusterView({ managedBy: 'team x', spec: undefined, ...change });

/** One that was adopted, with an answer of its API server. */
function adopted(change: Partial<ClusterView> = {}, notes: Record<string, string> = {}): ClusterView {
  const secrets = { ...someSecrets(), ...bootstrapped };
  const cluster = aCluster({}, { annotations: notes });
  const record = toClusterRecord(secrets);
  cluster.status = { ...cluster.status, providerStatus: { [clusterRecordKey]: record } } as NonNullable<
    typeof cluster.status
  >;
  return external({
    ...{ cluster, secrets, endpoint: anEndpoint, machines: threeMachines(ready) },
    ...{ recorded: JSON.stringify(record), proof: { ok: true, version: '1.40.0' } },
    ...change,
  });
}

describe('a Cluster whose nodes are managed by others', () => {
  it('gets no secrets, and waits for its adoption', () => {
    expect(decideCluster(external())).toEqual({ kind: 'settled' });
    expect(describeClusterConditions(external()).slice(0, 2)).toMatchObject([
      { type: 'Accepted', status: 'True' },
      { type: 'SecretsReady', status: 'False', reason: 'NotAdopted', message: expect.stringContaining('team x') },
    ]);
  });

  it('is only asked whether its API server answers', () => {
    expect(decideCluster(adopted({ proof: undefined }))).toEqual({ kind: 'prove' });
    expect(decideCluster(adopted())).toEqual({ kind: 'settled' });
    expect(describeClusterConditions(adopted()).every(({ status }) => status === 'True')).toBe(true);
  });

  it('would be changed by the same facts if the provider managed it', () => {
    const spec = aSpec((raw) => Object.assign(raw, { workerPools: [{ name: 'work', replicas: 1, size: 'small' }] }));
    expect(decideCluster(adopted({ managedBy: undefined, spec })).kind).not.toBe('settled');
  });

  it('is neither up to date nor not', () => {
    expect(describeClusterUpToDate(adopted())).toMatchObject({ status: 'Unknown', reason: 'ManagedByOthers' });
    expect(describeClusterUpToDate(external())).toBeUndefined();
  });

  it('keeps its authorities', () => {
    const view = adopted({}, { [annotations.rotateCa]: 'talos' });
    expect(describeClusterRotation(view)).toMatchObject({ status: 'False', reason: 'RotationRefused' });
    expect(decideCluster(view)).toEqual({ kind: 'settled' });
  });
});
