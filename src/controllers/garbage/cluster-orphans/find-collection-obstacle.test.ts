import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { aClusterView, anEndpoint, ready, someSecrets } from '../../../../test/support/fixtures/cluster-views.ts';
import type { Machine } from '../../../api/machine.ts';
import type { ClusterView } from '../../cluster/view.ts';
import { findCollectionObstacle, findMembershipObstacle } from './find-collection-obstacle.ts';

const progress = (machine: Machine, change: object): Machine => ({
  ...machine,
  status: {
    ...machine.status,
    ...{ observedGeneration: 1, phase: 'Ready', conditions: ready },
    progress: { ...machine.status?.progress, finishedAt: '2026-11-21T09:10:00Z', ...change } as never,
  },
});
const settled = (slot: number, pool = 'cp') => progress(aMachine(slot, ready, pool), {});
const unready = (slot: number, pool = 'cp'): Machine => {
  const machine = settled(slot, pool);
  return { ...machine, status: { ...machine.status, conditions: [] } as never };
};
const leaving = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: '2026-11-21T09:20:00Z' },
});
const viewOf = (more: Partial<ClusterView> = {}): ClusterView =>
  aClusterView({
    endpoint: anEndpoint,
    proof: { ok: true, version: '1.35.4' },
    secrets: someSecrets({ bootstrappedAt: '2026-11-21T09:00:00Z' }),
    spec: aSpec((raw) => Object.assign(raw, { controlPlane: { size: 'small', replicas: 3 } })),
    machines: [0, 1, 2].map((slot) => settled(slot)),
    ...more,
  });
const update = { plan: 'update', finishedAt: undefined };

describe('D36, D37: nothing of a cluster is looked at', () => {
  it.each<[string, Partial<ClusterView>, RegExp]>([
    ['in deletion', { cluster: aCluster({}, { deletionTimestamp: '2026-11-21T09:20:00Z' }) }, /being deleted/],
    ['without a bootstrapped etcd', { secrets: someSecrets() }, /not bootstrapped/],
    ['without its secrets', { secrets: undefined }, /not bootstrapped/],
    ['without a spec', { spec: undefined }, /spec .* is not known/],
    ['whose API server was not asked', { proof: undefined }, /does not answer/],
    ['whose API server is silent', { proof: { ok: false, message: '' } }, /does not answer/],
  ])('%s', (_, more, obstacle) => {
    expect(findCollectionObstacle(viewOf(more))).toMatch(obstacle);
    expect(findMembershipObstacle(viewOf(more))).toMatch(obstacle);
  });
});

describe('D36: no member of etcd is looked at while', () => {
  it.each<[string, Partial<ClusterView>, RegExp]>([
    ['a control plane does not exist', { machines: [settled(0), settled(1)] }, /-cp-2 does not exist yet/],
    [
      'one is provisioned',
      { machines: [settled(0), settled(1), progress(aMachine(2, ready), { finishedAt: undefined })] },
      /-cp-2 is being provisioned/,
    ],
    [
      'one is repaired',
      { machines: [settled(0), settled(1), progress(aMachine(2, ready), { plan: 'repair' })] },
      /-cp-2 is being repaired/,
    ],
    [
      'one is updated',
      { machines: [settled(0), settled(1), progress(aMachine(2, ready), update)] },
      /-cp-2 is being updated/,
    ],
    ['one is not ready', { machines: [settled(0), settled(1), unready(2)] }, /-cp-2 is not ready/],
    ['the trust is rolled out', { trustRollout: { message: 'restarts' } as never }, /OIDC issuers/],
  ])('%s', (_, more, obstacle) => {
    expect(findMembershipObstacle(viewOf(more))).toMatch(obstacle);
    expect(findCollectionObstacle(viewOf(more))).toBeUndefined();
  });

  it.each<[string, readonly Machine[]]>([
    ['all are ready', []],
    ['a worker is not ready', [unready(0, 'work')]],
    ['one in deletion is not ready', [leaving(unready(3))]],
  ])('not while %s', (_, others) => {
    const view = viewOf();
    expect(findMembershipObstacle({ ...view, machines: [...view.machines, ...others] })).toBeUndefined();
  });
});
