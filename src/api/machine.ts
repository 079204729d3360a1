import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import { progressSchema } from './schema/progress-schema.ts';

/** Names that are also used as label values. */
const labelValueSchema = z.string().max(63);

const MachineSpecSchema = z
  .strictObject({
    providerRef: z
      .strictObject({
        name: labelValueSchema.describe('Its --provider-name.'),
        environment: labelValueSchema.describe('Its --environment.'),
        namespace: labelValueSchema.describe('Its own namespace.'),
      })
      .describe('The provider instance that made this. Another instance leaves it alone.'),
    providerConfigRef: z
      .strictObject({ name: labelValueSchema.describe('Name of the ProviderConfig.') })
      .describe('The template it was made from.'),
    clusterRef: z
      .strictObject({
        namespace: labelValueSchema.describe('Namespace of the Cluster.'),
        name: z.string().max(253).describe('Name of the Cluster.'),
        uid: z.string().max(64).describe('UID of the Cluster: one that is made again under its name is another.'),
      })
      .describe('The Cluster that it belongs to.'),
    platform: z.string().max(32).describe('Name of the platform: that of its section in the ProviderConfig.'),
    role: z.enum(['controlplane', 'worker']).describe('Role in the cluster.'),
    pool: z.string().max(16).describe('Worker pool, or cp for control planes.'),
    slot: z.int().min(0).max(9999).describe('Number within the pool.'),
    size: z.string().max(32).describe('Size of the platform section that it was made with.'),
    failureDomain: z
      .string()
      .max(32)
      .optional()
      .describe('Failure domain that it is made in, where the platform section names several.'),
    talosVersion: z.string().max(20).describe('Talos version it was made with.'),
    kubernetesVersion: z.string().max(20).describe('Kubernetes version it was made with.'),
    endpoint: z
      .string()
      .max(512)
      .optional()
      .describe(
        "URL of the cluster's API server. Left out where it is that of a control plane: its secrets say which.",
      ),
    virtualAddress: z
      .string()
      .max(45)
      .optional()
      .describe('Virtual address of the API server that control planes hold, if the endpoint is one.'),
    issuerAuthorities: z
      .array(z.string().max(16))
      .max(64)
      .optional()
      .describe('Hashes of the authorities of OIDC issuers that it was given as files.'),
  })
  .meta({
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the spec of a Machine cannot be changed' }],
  });

const MachineStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema,
  phase: z.string().default('').describe('Provisioning, Ready, Degraded, Releasing or Failed.'),
  address: z.string().optional().describe('Address of the node.'),
  message: z.string().optional().describe('What it is doing, or what it waits for.'),
  lost: z
    .boolean()
    .optional()
    .describe(
      'The platform shows neither the machine nor the disk that its system was on: nothing of it can come back.',
    ),
  trust: z
    .string()
    .max(16)
    .optional()
    .describe('Control plane: hash of the OIDC issuers that its API server was last seen to trust.'),
  progress: progressSchema(['provision', 'release', 'repair']).optional().describe('Where it is in its list of steps.'),
  conditions: conditionListSchema('Ready, Provisioned, Joined, Healthy.'),
});

export const MachineSpec = MachineSpecSchema;
export type MachineSpec = z.infer<typeof MachineSpecSchema>;
export const MachineStatus = MachineStatusSchema;
export type MachineStatus = z.infer<typeof MachineStatusSchema>;

/** One Talos node and the record of its steps. Only the provider creates, changes and deletes Machines. */
export interface Machine extends KubeObject {
  spec: MachineSpec;
  status?: MachineStatus;
}
export const Machine: ResourceType<Machine> = {
  group,
  version,
  kind: 'Machine',
  plural: 'machines',
  namespaced: false,
};
