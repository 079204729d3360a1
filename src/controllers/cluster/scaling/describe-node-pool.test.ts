import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import { provisioned, ready } from '../../../../test/support/fixtures/cluster-views.ts';
import { group, version } from '../../../api/names.ts';
import type { NodePool } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';
import { describeNodePoolStatus } from './describe-node-pool.ts';
import type { PoolBalance } from './machine-slots.ts';

const { providerRef, providerConfigRef, clusterRef } = aMachine().spec;
const nodePool = (replicas: number): NodePool => ({
  apiVersion: `${group}/${version}`,
  kind: 'NodePool',
  metadata: { name: 'prod-work', generation: 3 },
  spec: { providerRef, providerConfigRef, clusterRef, pool: 'work', replicas },
});
const pool: WorkerPool = { name: 'work', replicas: 2, size: 'small', labels: {}, taints: [], patches: [] };
const balance = (replicas: number, more: Partial<PoolBalance> = {}): PoolBalance => ({
  ...{ role: 'worker', pool: 'work', replicas, present: [], leaving: [], surplus: [], toDelete: [], missing: [] },
  ...more,
});
const now = new Date('2026-11-21T10:00:00Z');
const workers = [ready, provisioned, ready].map((conditions, slot) => aMachine(slot, conditions, 'work'));

describe('the status of a NodePool', () => {
  it('counts all Machines, and the ready ones that are not to be deleted', () => {
    const [first, second, third] = workers;
    const status = describeNodePoolStatus(
      nodePool(2),
      pool,
      balance(2, { present: [first!, second!], leaving: [third!] }),
      now,
    );
    expect(status).toMatchObject({ observedGeneration: 3, replicas: 3, readyReplicas: 1, desiredReplicas: 2 });
    expect(status).not.toHaveProperty('minReplicas');
    expect(status.selector).toMatch(
      /^talos\.clusters\.openmcp\.cloud\/cluster=[a-z2-7]{8},talos\.clusters\.openmcp\.cloud\/pool=work$/,
    );
    expect(status.conditions).toEqual([
      expect.objectContaining({ type: 'Ready', status: 'False', message: '1 of 2 nodes are ready.' }),
      expect.objectContaining({ type: 'WithinLimits', status: 'True' }),
    ]);
  });

  it.each<[number, number, RegExp]>([
    [9, 4, /^spec\.replicas: 9 is more than maxReplicas of the worker pool work\. The pool has 4 instead\./],
    [0, 1, /^spec\.replicas: 0 is less than minReplicas of the worker pool work\. The pool has 1 instead\./],
  ])('says that %i is out of range', (asked, given, message) => {
    const limited = { ...pool, minReplicas: 1, maxReplicas: 4 };
    const status = describeNodePoolStatus(nodePool(asked), limited, balance(given), now);
    expect(status).toMatchObject({ minReplicas: 1, maxReplicas: 4, desiredReplicas: given });
    expect(status.conditions.find(({ type }) => type === 'WithinLimits')).toMatchObject({
      ...{ status: 'False', reason: 'ReplicasOutOfRange', message: expect.stringMatching(message) },
    });
  });
});
