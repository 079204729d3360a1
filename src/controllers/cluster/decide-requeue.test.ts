import { describe, expect, it } from 'vitest';
import { aCluster, aCondition } from '../../../test/support/fixtures/builders.ts';
import {
  aClusterView,
  anEndpoint,
  requesting,
  someSecrets,
  threeMachines,
} from '../../../test/support/fixtures/cluster-views.ts';
import { decideRequeueAfterSeconds, describeClusterConditions } from './decide.ts';
import type { ClusterView } from './view.ts';

describe('the requeue interval of a Cluster', () => {
  const now = new Date('2026-11-21T09:00:00Z');
  const made = { secrets: someSecrets({ bootstrappedAt: 'then' }), endpoint: anEndpoint, machines: threeMachines() };
  const unresponsive = { ok: false, message: 'The API server does not answer.' } as const;
  /** An API server that has been silent for `seconds` after it had answered. */
  const silentFor = (seconds: number): ClusterView => {
    const lastTransitionTime = new Date(now.getTime() - seconds * 1000).toISOString();
    const conditions = [{ ...aCondition('EndpointReachable', 'False'), lastTransitionTime }];
    const status = {
      observedGeneration: 1,
      phase: 'Progressing',
      endpoints: [{ name: 'external', url: anEndpoint.url }],
      conditions,
    };
    return aClusterView({ ...made, cluster: { ...aCluster(), status }, proof: unresponsive });
  };
  const seconds = (given: ClusterView, isConnected = false): number =>
    decideRequeueAfterSeconds(given, describeClusterConditions(given), { isConnected: isConnected, now });

  it('is a minute if all is well, and short during creation', () => {
    expect(seconds(aClusterView({ ...made, proof: { ok: true, version: '1.35.4' } }))).toBe(60);
    expect(seconds(aClusterView({ ...made, proof: unresponsive }))).toBe(5);
  });

  it('is half an hour if all is well and the node watch is open', () => {
    const well = aClusterView({ ...made, proof: { ok: true, version: '1.35.4' } });
    expect(seconds(well, true)).toBe(1800);
    expect(seconds({ ...well, trustRollout: { done: 1, message: 'one after the other' } as never }, true)).toBe(3);
    expect(seconds(aClusterView({ ...made, proof: unresponsive }), true)).toBe(5);
    expect(seconds(aClusterView({ cluster: requesting('1.33.0') }), true)).toBe(60);
  });

  it('is a minute if only a change helps, and short for an endpoint that another Cluster may release', () => {
    expect(seconds(aClusterView({ cluster: requesting('1.33.0') }))).toBe(60);
    expect(seconds(aClusterView({ secrets: someSecrets(), noAddress: 'none left' }))).toBe(60);
    expect(seconds(aClusterView({ endpointHolder: { namespace: 'other', name: 'first' } }))).toBe(5);
  });

  it('grows with the clusters that wait before it for their turn, since the end of a turn calls the next one', () => {
    const well = aClusterView({ ...made, proof: { ok: true, version: '1.35.4' } });
    const behind = (waitingBefore: number) =>
      seconds({ ...well, updateObstacle: { message: 'Another one is first.', isTurn: true, waitingBefore } }, true);
    expect([0, 1, 5, 97].map(behind)).toEqual([30, 60, 180, 300]);
    expect(seconds({ ...well, updateObstacle: { message: 'A node is not ready.', isTurn: false } }, true)).toBe(15);
  });

  it('grows while the API server is silent, up to half a minute', () => {
    expect([0, 40, 100, 1000, 1e6, -3600].map((age) => seconds(silentFor(age)))).toEqual([2, 4, 10, 30, 30, 2]);
  });
});
