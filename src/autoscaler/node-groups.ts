import type { Machine } from '../api/machine.ts';
import type { NodePool } from '../api/node-pool.ts';
import type { Cluster } from '../api/openmcp/types.ts';
import type { ProviderConfigSpec, WorkerPool } from '../api/provider-config-spec.ts';
import { clusterIdentityOf } from '../controllers/cluster/identity.ts';
import { decideReplicas, type ReplicaLimits, replicaLimitsOf } from '../controllers/cluster/scaling/pool-replicas.ts';
import { findProviderConfig, machinesOfCluster, nodePoolsOfCluster } from '../controllers/cluster/view.ts';
import type { Services } from '../controllers/shared/services.ts';
import { type ChosenPlatform, choosePlatform } from '../controllers/shared/spec/choose-platform.ts';
import { resolveDesiredSpec } from '../controllers/shared/spec/desired-spec.ts';
import { instanceIdOf, placeholderIdOf } from './instances.ts';

/** A NodePool that can be scaled, which an autoscaler knows as a node group of this name. */
export interface ScalablePool {
  readonly cluster: Cluster;
  readonly nodePool: NodePool;
  readonly workers: WorkerPool;
  readonly limits: ReplicaLimits;
  /** The spec of the Cluster. */
  readonly spec: ProviderConfigSpec;
  readonly platform: ChosenPlatform;
  /** The Machines of the pool, including those in deletion. */
  readonly machines: readonly Machine[];
  /** The number of nodes that it is to have. */
  readonly target: number;
}

/**
 * The NodePools of a Cluster that have `minReplicas` or `maxReplicas`, from the caches. None while the spec of the Cluster
 * cannot be determined, which the conditions of the Cluster report.
 */
export function listScalablePools(services: Services, cluster: Cluster): readonly ScalablePool[] {
  const config = findProviderConfig(services, cluster);
  const desired = config && resolveDesiredSpec(services, config, cluster);
  if (!desired || 'refused' in desired || cluster.metadata.deletionTimestamp) return [];
  const { spec } = desired;
  // An autoscaler removes instances whose ids no Node has, and the ids of these Nodes come from others.
  if (spec.kubernetes.externalCloudProvider.enabled) return [];
  const platform = choosePlatform(services.platforms, spec);
  if (!platform) return [];
  const ref = clusterIdentityOf(cluster);
  const all = machinesOfCluster(services, ref);
  return nodePoolsOfCluster(services, ref).flatMap((nodePool) => {
    const workers = spec.workerPools.find(({ name }) => name === nodePool.spec.pool);
    const limits = workers && replicaLimitsOf(workers);
    if (!workers || !limits || nodePool.metadata.deletionTimestamp) return [];
    const machines = all.filter((one) => one.spec.pool === workers.name);
    const target = targetSizeOf(workers, nodePool, machines);
    return [{ cluster, nodePool, workers, limits, spec, platform, machines, target }];
  });
}

/** The number of nodes that a NodePool is to have, which is within its limits. */
export const targetSizeOf = (workers: WorkerPool, nodePool: NodePool, machines: readonly Machine[]): number =>
  decideReplicas(workers, nodePool, machines.filter(({ metadata }) => !metadata.deletionTimestamp).length);

/** A Node as an autoscaler names it. One that it has invented for an instance has the id of that as its name, too. */
export interface NamedNode {
  readonly providerId: string;
  readonly name: string;
}

/**
 * The Machine of a Node. The name alone counts only for a Node that has no provider id yet: users can add Nodes of any
 * name.
 */
export function findMachineOfNode(
  { platform: { platform } }: Pick<ScalablePool, 'platform'>,
  machines: readonly Machine[],
  { providerId, name }: NamedNode,
): Machine | undefined {
  if (providerId === '') return machines.find(({ metadata }) => metadata.name === name);
  return machines.find(
    (machine) => instanceIdOf(platform, machine) === providerId || placeholderIdOf(machine) === providerId,
  );
}

/** Whether the NodePool names the Machine to be deleted. */
export const isToBeDeleted = ({ spec }: NodePool, { metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined || (spec.machinesToDelete ?? []).some(({ uid }) => uid === metadata.uid);
