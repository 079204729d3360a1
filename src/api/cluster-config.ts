import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import {
  controlPlaneReplicasSchema,
  listMapBy,
  nodeLabelsSchema,
  nodeSizeSchema,
  oddReplicasRule,
  patchesSchema,
  taintsSchema,
  workerPoolNameSchema,
  workerReplicasSchema,
} from './schema/spec-fields.ts';

/** The patches of a cluster owner may set less than those of a platform team. */
const ownerPatchesSchema = (whom: string) => patchesSchema(whom, 'What they may set is listed in docs/security.md. ');

/** A pool of the ProviderConfig, by name, or an additional one. A field that is left out keeps its value from there. */
const WorkerPoolOverrides = z.strictObject({
  name: workerPoolNameSchema,
  replicas: workerReplicasSchema
    .optional()
    .describe('Number of nodes. Default: as in the ProviderConfig; a pool that is not there needs it.'),
  size: nodeSizeSchema
    .optional()
    .describe('Name of one of the sizes of the ProviderConfig. Default: as there; a pool that is not there needs it.'),
  labels: nodeLabelsSchema
    .optional()
    .describe('Labels of the Kubernetes nodes, added to those of the ProviderConfig. Default: none.'),
  taints: taintsSchema
    .optional()
    .describe('Taints the Kubernetes nodes register with, instead of those of the ProviderConfig. Default: as there.'),
  patches: ownerPatchesSchema('the nodes of this pool, after those of the ProviderConfig'),
});

const ControlPlaneOverrides = z.strictObject({
  replicas: controlPlaneReplicasSchema
    .optional()
    .meta(oddReplicasRule)
    .describe('Number of control-plane nodes: 1, 3 or 5. Default: as in the ProviderConfig.'),
  size: nodeSizeSchema.optional().describe('Name of one of the sizes of the ProviderConfig. Default: as there.'),
  schedulable: z
    .boolean()
    .optional()
    .describe('Whether ordinary workloads may run on control planes. Default: as in the ProviderConfig.'),
  patches: ownerPatchesSchema('control-plane nodes, after those of the ProviderConfig'),
});

export const ClusterConfigSpec = z.strictObject({
  controlPlane: ControlPlaneOverrides.prefault({}).describe('What is different for the control-plane nodes.'),
  workerPools: z
    .array(WorkerPoolOverrides)
    .max(20)
    .default([])
    .meta(listMapBy('name'))
    .describe('Pools that are different, and pools that the ProviderConfig does not have. Default: none.'),
  patches: ownerPatchesSchema('every node, after those of the ProviderConfig'),
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
