import { clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import { clusterId, group, labels, nodePoolName, version } from '../../../api/names.ts';
import { NodePool } from '../../../api/node-pool.ts';
import type { WorkerPool } from '../../../api/provider-config-spec.ts';
import { isAlreadyExists } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { inheritedMetadata } from '../../shared/objects.ts';
import type { Services } from '../../shared/services.ts';
import { describeForeignMachine } from '../describe-foreign-object.ts';
import { clusterOfMachine, isOwnMachine } from '../identity.ts';
import type { ClusterView } from '../view.ts';
import { decideReplicas } from './pool-replicas.ts';
import { deleteNodePool } from './reconcile-node-pools.ts';

/** Creates the NodePools of these worker pools. */
export async function createNodePools(
  services: Services,
  view: ClusterView,
  pools: readonly WorkerPool[],
  signal: AbortSignal,
): Promise<Pick<ClusterView, 'nodePools' | 'nameTaken'>> {
  const made: NodePool[] = [];
  let nameTaken: string | undefined;
  for (const pool of pools) {
    const nodePool = describeNodePool(services, view, pool);
    const present = await createOrGet(services, nodePool, signal);
    const taken = describeForeignMachine(services, present, view.ref);
    if (taken === undefined) made.push(present);
    else if (isOfFormerCluster(services, present, view)) {
      await deleteNodePool(services, present, signal);
      made.push(await services.kube.create(NodePool, nodePool, signal));
    } else nameTaken ??= taken;
  }
  return { nodePools: [...view.nodePools, ...made], nameTaken };
}

async function createOrGet({ kube }: Services, nodePool: NodePool, signal: AbortSignal): Promise<NodePool> {
  try {
    return await kube.create(NodePool, nodePool, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await kube.get(NodePool, { name: nodePool.metadata.name }, signal);
  }
}

/** A former Cluster of the same name, which cannot exist any more, has left it. Nothing depends on it. */
function isOfFormerCluster(services: Services, nodePool: NodePool, { ref }: ClusterView): boolean {
  const { namespace, name } = clusterOfMachine(nodePool);
  return isOwnMachine(services, nodePool.spec) && namespace === ref.namespace && name === ref.name;
}

function describeNodePool(services: Services, view: ClusterView, pool: WorkerPool): NodePool {
  const { cluster, config, ref, secrets, machines } = view;
  if (!config) throw new ProviderError('INTERNAL', 'NodePools cannot be created yet.');
  const present = machines.filter(({ spec, metadata }) => spec.pool === pool.name && !metadata.deletionTimestamp);
  return {
    apiVersion: `${group}/${version}`,
    kind: NodePool.kind,
    metadata: {
      name: nodePoolName(ref, pool.name, secrets?.nodePrefix),
      labels: {
        ...inheritedMetadata(cluster.metadata.labels),
        [labels.provider]: services.provider,
        [labels.cluster]: clusterId(ref),
        [labels.pool]: pool.name,
      },
      annotations: { ...inheritedMetadata(cluster.metadata.annotations), ...clusterIdentityAnnotations(ref) },
    },
    spec: {
      providerRef: { name: services.provider, environment: services.environment, namespace: services.namespace },
      providerConfigRef: { name: config.metadata.name },
      clusterRef: ref,
      pool: pool.name,
      replicas: decideReplicas(pool, undefined, present.length),
    },
  };
}
