import {
  type ConditionState,
  conditionFalse,
  conditionTrue,
  isConditionTrue,
  mergeConditions,
} from '../../../api/conditions.ts';
import { clusterId, labels } from '../../../api/names.ts';
import type { NodePool, NodePoolStatus } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';
import type { PoolBalance } from './machine-slots.ts';
import { replicaLimitsOf } from './pool-replicas.ts';

/** The status of a NodePool. `pool`: its worker pool; undefined if the spec does not have it any more. */
export function describeNodePoolStatus(
  { metadata, spec, status }: NodePool,
  pool: WorkerPool | undefined,
  { replicas, present, leaving }: PoolBalance,
  now: Date,
): NodePoolStatus {
  const generation = metadata.generation ?? 0;
  const readyReplicas = present.filter((one) => isConditionTrue(one.status?.conditions, 'Ready')).length;
  const limits = pool && replicaLimitsOf(pool);
  const count = `${readyReplicas} of ${replicas} nodes are ready.`;
  const isSettled = readyReplicas === replicas && present.length === replicas && leaving.length === 0;
  const states: ConditionState[] = [
    describeLimits(spec, pool),
    isSettled ? conditionTrue('Ready', count) : conditionFalse('Ready', 'WaitingForMachines', count),
  ];
  return {
    observedGeneration: generation,
    replicas: present.length + leaving.length,
    readyReplicas,
    desiredReplicas: replicas,
    ...(limits && { minReplicas: limits.min, maxReplicas: limits.max }),
    selector: `${labels.cluster}=${clusterId(spec.clusterRef)},${labels.pool}=${spec.pool}`,
    conditions: mergeConditions(status?.conditions ?? [], states, { generation, now }),
  };
}

function describeLimits({ replicas, pool: name }: NodePool['spec'], pool: WorkerPool | undefined): ConditionState {
  const limits = pool && replicaLimitsOf(pool);
  if (!limits || (replicas >= limits.min && replicas <= limits.max)) return conditionTrue('WithinLimits');
  const [how, field, limit] =
    replicas < limits.min ? ['less', 'minReplicas', limits.min] : ['more', 'maxReplicas', limits.max];
  const message = `spec.replicas: ${replicas} is ${how} than ${field} of the worker pool ${name}. The pool has ${limit} instead. Change spec.replicas, or ${field} in the ProviderConfig or ClusterConfig.`;
  return conditionFalse('WithinLimits', 'ReplicasOutOfRange', message);
}
