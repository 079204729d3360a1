import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { Services } from '../controllers/shared/services.ts';
import { KubeError } from '../kube/errors.ts';
import { isDeadlineError, withDeadline } from '../lib/deadline.ts';
import { findCapacity, listHeldAddresses } from './capacity.ts';
import {
  type CloudProvider,
  type ExternalGrpcNode,
  NodeGroupSchema,
  InstanceStatus_InstanceState as State,
} from './gen/externalgrpc_pb.ts';
import { describeInstance, type MachineInstance } from './instances.ts';
import {
  findMachineOfNode,
  isToBeDeleted,
  listScalablePools,
  type NamedNode,
  type ScalablePool,
} from './node-groups.ts';
import { clusterOfRequest } from './request-context.ts';
import { decreaseTargetSize, deleteNodes, increaseSize } from './scale.ts';
import { encodeTemplateNode } from './template-node.ts';

/** The autoscaler gives up after five seconds, unless it is configured otherwise. */
const deadlineSeconds = 10;
/** Longer than the names and ids of Nodes. */
const maxTextLength = 512;
/** The size of the largest pool. */
const maxNodes = 500;

/**
 * The methods of the protocol, for the Cluster of the client alone. Reads are answered from the caches, each write is
 * decided on what the API server has.
 */
export function createCloudProvider(services: Services): ServiceImpl<typeof CloudProvider> {
  const poolsOf = (context: HandlerContext) => listScalablePools(services, clusterOfRequest(context));
  const requirePool = (context: HandlerContext, id: string): ScalablePool => {
    const found = poolsOf(context).find(({ nodePool }) => nodePool.metadata.name === id);
    if (found) return found;
    throw new ConnectError(`There is no node group ${id.slice(0, maxTextLength)} in this cluster.`, Code.NotFound);
  };
  const run = <T>(context: HandlerContext, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    runCall(services, context, work);
  return {
    refresh: () => ({}),
    cleanup: () => ({}),
    // Nodes with GPUs are not known as such.
    gPULabel: () => ({ label: '' }),
    getAvailableGPUTypes: () => ({}),
    nodeGroups: (_, context) =>
      run(context, async (signal) => {
        const pools = poolsOf(context);
        const held = await listHeldAddresses(services, pools, signal);
        return {
          nodeGroups: pools.map((pool) => toNodeGroup(pool, pool.target + findCapacity(services, pool, held).more)),
        };
      }),
    nodeGroupForNode: ({ node }, context) =>
      run(context, async () => {
        const named = toNamedNode(node);
        // An error here would stop all scaling of the cluster: a Node that is not known is simply in no group.
        const pool = poolsOf(context).find((one) => findMachineOfNode(one, one.machines, named));
        return { nodeGroup: pool ? toNodeGroup(pool, pool.limits.max) : create(NodeGroupSchema) };
      }),
    nodeGroupTargetSize: ({ id }, context) =>
      run(context, async () => ({ targetSize: requirePool(context, id).target })),
    nodeGroupIncreaseSize: ({ id, delta }, context) =>
      run(context, async (signal) => {
        await increaseSize(services, requirePool(context, id), delta, signal);
        return {};
      }),
    nodeGroupDecreaseTargetSize: ({ id, delta }, context) =>
      run(context, async (signal) => {
        await decreaseTargetSize(services, requirePool(context, id), delta, signal);
        return {};
      }),
    nodeGroupDeleteNodes: ({ id, nodes }, context) =>
      run(context, async (signal) => {
        if (nodes.length > maxNodes)
          throw new ConnectError(`nodes: more than ${maxNodes} are named.`, Code.InvalidArgument);
        await deleteNodes(services, requirePool(context, id), nodes.map(toNamedNode), signal);
        return {};
      }),
    nodeGroupNodes: ({ id }, context) =>
      run(context, async () => {
        const { nodePool, machines, platform } = requirePool(context, id);
        const instances = machines.map((one) =>
          toInstance(describeInstance(platform.platform, one, isToBeDeleted(nodePool, one))),
        );
        return { instances };
      }),
    nodeGroupTemplateNodeInfo: ({ id }, context) =>
      run(context, async () => {
        const nodeBytes = encodeTemplateNode(services, requirePool(context, id));
        if (nodeBytes) return { nodeBytes };
        // Any other code would end the loop of the autoscaler; with this one it leaves the group out.
        throw new ConnectError(
          `The hardware of the node group ${id} is not known: none of its Hosts was inspected.`,
          Code.Unimplemented,
        );
      }),
  };
}

const toNodeGroup = ({ nodePool, limits, target, workers }: ScalablePool, max: number) =>
  create(NodeGroupSchema, {
    id: nodePool.metadata.name,
    minSize: limits.min,
    maxSize: Math.max(max, limits.min),
    debug: `worker pool ${workers.name} of size ${workers.size}, ${target} nodes desired`,
  });

const toNamedNode = (node: ExternalGrpcNode | undefined): NamedNode => ({
  providerId: (node?.providerId ?? '').slice(0, maxTextLength),
  name: (node?.name ?? '').slice(0, maxTextLength),
});

const states = { creating: State.CREATING, running: State.RUNNING, deleting: State.DELETING } as const;
const errorClasses = { 'out-of-resources': 1, other: 99 } as const;

const toInstance = ({ id, state, error }: MachineInstance) => ({
  id,
  status: {
    instanceState: states[state],
    ...(error && {
      errorInfo: {
        errorCode: error.code,
        errorMessage: error.message,
        instanceErrorClass: errorClasses[error.class],
      },
    }),
  },
});

/** Every failure gets a code of gRPC. What is not expected is logged, and not sent. */
async function runCall<T>(
  { log }: Services,
  context: HandlerContext,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withDeadline(deadlineSeconds, context.signal, work);
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    if (isDeadlineError(error) || context.signal.aborted)
      throw new ConnectError('The call took too long.', Code.DeadlineExceeded);
    log.warn({ method: context.method.name, error: String(error) }, 'a call of an autoscaler failed');
    if (error instanceof KubeError)
      throw new ConnectError('The platform cluster does not answer as expected. Repeat the call.', Code.Unavailable);
    throw new ConnectError('Internal error of the provider.', Code.Internal);
  }
}
