import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import { ClusterPublishSchema } from './schema/publish-schema.ts';
import {
  controlPlaneReplicasSchema,
  listMapBy,
  nodeLabelsSchema,
  nodeSizeSchema,
  oddReplicasRule,
  patchesSchema,
  replicaLimitsRule,
  taintsSchema,
  workerPoolNameSchema,
  workerReplicasSchema,
} from './schema/spec-fields.ts';

/** The patches of a cluster owner may set less than those of a platform team. */
const ownerPatchesSchema = (whom: string) =>
  patchesSchema(whom, 'The permitted fields are listed in docs/security.md. ');

/** A pool of the ProviderConfig, by name, or an additional one. A field that is left out keeps its value from there. */
const WorkerPoolOverrides = z
  .strictObject({
    name: workerPoolNameSchema,
    replicas: workerReplicasSchema
      .optional()
      .describe(
        'Number of nodes. Default: the value of the ProviderConfig. Required for a pool that the ProviderConfig does not have.',
      ),
    minReplicas: workerReplicasSchema
      .optional()
      .describe(
        'Smallest number of nodes that the NodePool can be scaled to. Default: the value of the ProviderConfig.',
      ),
    maxReplicas: workerReplicasSchema
      .optional()
      .describe(
        'Largest number of nodes that the NodePool can be scaled to. Default: the value of the ProviderConfig.',
      ),
    size: nodeSizeSchema
      .optional()
      .describe(
        'Name of a size of the ProviderConfig. Default: the value of the ProviderConfig. Required for a pool that the ProviderConfig does not have.',
      ),
    labels: nodeLabelsSchema
      .optional()
      .describe('Labels of the Kubernetes nodes, added to those of the ProviderConfig. Default: none.'),
    taints: taintsSchema
      .optional()
      .describe(
        'Taints that the nodes register with. Replace the taints of the ProviderConfig. Default: the value of the ProviderConfig.',
      ),
    patches: ownerPatchesSchema('the nodes of this pool, applied after the patches of the ProviderConfig'),
  })
  .meta({ 'x-kubernetes-validations': [replicaLimitsRule] });

const ControlPlaneOverrides = z.strictObject({
  replicas: controlPlaneReplicasSchema
    .optional()
    .meta(oddReplicasRule)
    .describe('Number of control-plane nodes: 1, 3 or 5. Default: the value of the ProviderConfig.'),
  size: nodeSizeSchema
    .optional()
    .describe('Name of a size of the ProviderConfig. Default: the value of the ProviderConfig.'),
  schedulable: z
    .boolean()
    .optional()
    .describe('Whether ordinary workloads may run on control planes. Default: the value of the ProviderConfig.'),
  patches: ownerPatchesSchema('control-plane nodes, applied after the patches of the ProviderConfig'),
});

export const ClusterConfigSpec = z.strictObject({
  controlPlane: ControlPlaneOverrides.prefault({}).describe('Overrides for the control-plane nodes.'),
  workerPools: z
    .array(WorkerPoolOverrides)
    .max(20)
    .default([])
    .meta(listMapBy('name'))
    .describe('Overrides for worker pools of the ProviderConfig, and additional pools. Default: none.'),
  patches: ownerPatchesSchema('all nodes, applied after the patches of the ProviderConfig'),
  publish: ClusterPublishSchema.optional(),
});
export type ClusterConfigSpec = z.infer<typeof ClusterConfigSpec>;

/** Overrides of the ProviderConfig for the Clusters in its namespace that name it. */
export interface ClusterConfig extends KubeObject {
  spec: ClusterConfigSpec;
}
export const ClusterConfig: ResourceType<ClusterConfig> = {
  group,
  version,
  kind: 'ClusterConfig',
  plural: 'clusterconfigs',
  namespaced: true,
};
