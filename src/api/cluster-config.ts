import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import {
  mapList,
  nodeLabels,
  oddPlanes,
  patches,
  planeCount,
  poolName,
  size,
  taints,
  workerCount,
} from './spec-parts.ts';

/** A cluster owner may say less by a patch than a platform team. */
const ownerPatches = (whom: string) => patches(whom, 'What they may set is listed in docs/security.md. ');

/** A pool of the ProviderConfig, by name, or one more. What is left out stays as it is there. */
const Pool = z.strictObject({
  name: poolName,
  replicas: workerCount
    .optional()
    .describe('Number of nodes. Default: as in the ProviderConfig; a pool that is not there needs it.'),
  size: size
    .optional()
    .describe('Name of one of the sizes of the ProviderConfig. Default: as there; a pool that is not there needs it.'),
  labels: nodeLabels
    .optional()
    .describe('Labels of the Kubernetes nodes, added to those of the ProviderConfig. Default: none.'),
  taints: taints
    .optional()
    .describe('Taints the Kubernetes nodes register with, instead of those of the ProviderConfig. Default: as there.'),
  patches: ownerPatches('the nodes of this pool, after those of the ProviderConfig'),
});

const Planes = z.strictObject({
  replicas: planeCount
    .optional()
    .meta(oddPlanes)
    .describe('Number of control-plane nodes: 1, 3 or 5. Default: as in the ProviderConfig.'),
  size: size.optional().describe('Name of one of the sizes of the ProviderConfig. Default: as there.'),
  schedulable: z
    .boolean()
    .optional()
    .describe('Whether ordinary workloads may run on control planes. Default: as in the ProviderConfig.'),
  patches: ownerPatches('control-plane nodes, after those of the ProviderConfig'),
});

export const ClusterConfigSpec = z.strictObject({
  controlPlane: Planes.prefault({}).describe('What is different for the control-plane nodes.'),
  workerPools: z
    .array(Pool)
    .max(20)
    .default([])
    .meta(mapList('name'))
    .describe('Pools that are different, and pools that the ProviderConfig does not have. Default: none.'),
  patches: ownerPatches('every node, after those of the ProviderConfig'),
});
export type ClusterConfigSpec = z.infer<typeof ClusterConfigSpec>;

/** What is different from the ProviderConfig for the Clusters that name it, in their namespace. */
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
