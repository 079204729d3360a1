import { describe, expect, it } from 'vitest';
import type { OwnerReference } from '../resource.ts';
import type { Pod } from './kinds.ts';
import { planDrain } from './plan-drain.ts';

const owner = (kind: string, apiVersion = 'apps/v1'): OwnerReference[] => [
  { apiVersion, kind, name: 'parent', uid: 'u', controller: true },
];

function pod(metadata: Partial<Pod['metadata']> = {}, rest: Pick<Pod, 'spec' | 'status'> = {}): Pod {
  const status = { phase: 'Running' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'shop', uid: 'p1', ...metadata },
    status,
    ...rest,
  };
}

const deleted = { deletionTimestamp: '2026-11-25T10:00:00Z' };
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'abc' } };
const finished = (phase: string) => ({ status: { phase } });

describe('planDrain', () => {
  it.each<[string, Pod, 'evict' | 'ending' | 'staying']>([
    ['D5: leaves a mirror pod', pod(mirror), 'staying'],
    ['D5: leaves a mirror pod that is being deleted', pod({ ...mirror, ...deleted }), 'staying'],
    ['D5: leaves a mirror pod that has finished', pod(mirror, finished('Failed')), 'staying'],
    ['D5: leaves a pod of a DaemonSet', pod({ ownerReferences: owner('DaemonSet') }), 'staying'],
    [
      'removes a finished pod of a DaemonSet',
      pod({ ownerReferences: owner('DaemonSet') }, finished('Succeeded')),
      'evict',
    ],
    [
      'evicts a pod of a foreign kind DaemonSet',
      pod({ ownerReferences: owner('DaemonSet', 'example.org/v1') }),
      'evict',
    ],
    [
      'evicts a pod that a DaemonSet owns but does not control',
      pod({ ownerReferences: owner('DaemonSet').map((one) => ({ ...one, controller: false })) }),
      'evict',
    ],
    ['evicts a pod of a ReplicaSet', pod({ ownerReferences: owner('ReplicaSet') }), 'evict'],
    ['D5: evicts a pod without a controller', pod(), 'evict'],
    ['removes a finished pod', pod({}, finished('Succeeded')), 'evict'],
    ['removes a failed pod', pod({}, finished('Failed')), 'evict'],
    ['evicts a pending pod', pod({}, finished('Pending')), 'evict'],
    ['waits for a pod that is being deleted', pod(deleted), 'ending'],
  ])('%s', (_, one, expected) => {
    const none = { evict: [], ending: [], staying: [] };
    expect(planDrain([one])).toEqual({ ...none, [expected]: [one] });
  });

  it('evicts the pod of a DaemonSet that does not exist', () => {
    const left = pod({ ownerReferences: owner('DaemonSet') });
    expect(planDrain([left], new Set(['shop/parent'])).evict).toEqual([left]);
    expect(planDrain([left], new Set(['other/parent'])).staying).toEqual([left]);
  });

  it('D5: evicts a pod with an emptyDir', () => {
    const one = pod({}, { spec: { volumes: [{ name: 'cache' }] }, status: { phase: 'Running' } });
    expect(planDrain([one]).evict).toEqual([one]);
  });
});
