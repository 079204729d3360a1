import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import { clusterRefSchema, providerConfigRefSchema, providerRefSchema } from './schema/owner-refs.ts';
import { celValidation, listMapBy, workerReplicasSchema } from './schema/spec-fields.ts';

const immutableSpecRule = ['providerRef', 'providerConfigRef', 'clusterRef', 'pool']
  .map((field) => `self.${field} == oldSelf.${field}`)
  .join(' && ');

const MachineToDelete = z.strictObject({
  uid: z.string().min(1).max(64).describe('UID of the Machine. Its successor of the same name has another one.'),
  name: z.string().max(63).describe('Name of the Machine, for users.'),
});

const NodePoolSpecSchema = z
  .strictObject({
    providerRef: providerRefSchema.describe('Provider instance that manages the NodePool. Other instances ignore it.'),
    providerConfigRef: providerConfigRefSchema.describe('The ProviderConfig that the NodePool was created from.'),
    clusterRef: clusterRefSchema.describe('The Cluster that the NodePool belongs to.'),
    pool: z.string().max(16).describe('Worker pool of the Cluster.'),
    replicas: workerReplicasSchema.describe(
      'Number of nodes. Others may change it if the worker pool has minReplicas or maxReplicas. Otherwise it follows the worker pool, and other values are reset.',
    ),
    machinesToDelete: z
      .array(MachineToDelete)
      .max(500)
      .meta(listMapBy('uid'))
      .optional()
      .describe(
        'Machines to delete before all others of the pool, regardless of replicas. A client that adds one must lower replicas by one in the same write; otherwise a Machine is created in its place. Set by cluster-autoscaler.',
      ),
  })
  .meta(celValidation(immutableSpecRule, 'only replicas and machinesToDelete of a NodePool can be changed'));

const countSchema = z.int().min(0).max(2147483647);

const NodePoolStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema,
  replicas: countSchema.optional().describe('Number of Machines, including those in deletion.'),
  readyReplicas: countSchema.optional().describe('Number of Machines that are ready and stay.'),
  desiredReplicas: countSchema
    .optional()
    .describe('Number of nodes that the pool is given: spec.replicas within minReplicas and maxReplicas.'),
  minReplicas: countSchema.optional().describe('Smallest number of nodes, if replicas can be changed here.'),
  maxReplicas: countSchema.optional().describe('Largest number of nodes, if replicas can be changed here.'),
  selector: z.string().optional().describe('Label selector of the Machines, for the scale subresource.'),
  conditions: conditionListSchema('Ready, WithinLimits.'),
});

export const NodePoolSpec = NodePoolSpecSchema;
export type NodePoolSpec = z.infer<typeof NodePoolSpecSchema>;
export const NodePoolStatus = NodePoolStatusSchema;
export type NodePoolStatus = z.infer<typeof NodePoolStatusSchema>;

/** The worker pool of one Cluster: its number of nodes can be changed, and read by autoscalers. */
export interface NodePool extends KubeObject {
  spec: NodePoolSpec;
  status?: NodePoolStatus;
}
export const NodePool: ResourceType<NodePool> = {
  group,
  version,
  kind: 'NodePool',
  plural: 'nodepools',
  namespaced: false,
};
