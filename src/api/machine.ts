import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { conditionList, observedGeneration } from './condition-schema.ts';
import { group, version } from './names.ts';

/** Names that are also used as label values. */
const name63 = z.string().max(63);

const MachineSpecSchema = z
  .strictObject({
    providerRef: z
      .strictObject({ name: name63.describe('The provider instance that made this.') })
      .describe('The provider instance.'),
    providerConfigRef: z
      .strictObject({ name: name63.describe('Name of the ProviderConfig.') })
      .describe('The template it was made from.'),
    clusterRef: z
      .strictObject({
        namespace: name63.describe('Namespace of the Cluster.'),
        name: z.string().max(253).describe('Name of the Cluster.'),
      })
      .describe('The Cluster that it belongs to.'),
    platform: z.string().max(32).describe('Name of the platform, e.g. truenas.'),
    role: z.enum(['controlplane', 'worker']).describe('Role in the cluster.'),
    pool: z.string().max(16).describe('Worker pool, or cp for control planes.'),
    slot: z.int().min(0).max(9999).describe('Number within the pool.'),
    size: z.string().max(32).describe('Size of the platform section that it was made with.'),
    talosVersion: z.string().max(20).describe('Talos version it was made with.'),
    kubernetesVersion: z.string().max(20).describe('Kubernetes version it was made with.'),
    endpoint: z.string().max(512).describe("URL of the cluster's API server."),
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

const Progress = z.strictObject({
  plan: z.enum(['provision', 'release']).describe('Which list of steps is walked.'),
  step: z.string().describe('The step that runs next or is running.'),
  since: z.string().meta({ format: 'date-time' }).describe('When it became current.'),
  failures: z
    .int()
    .min(0)
    .max(2147483647)
    .default(0)
    .describe('Errors in this step so far; the back-off is computed from them.'),
  finishedAt: z.string().meta({ format: 'date-time' }).optional().describe('When the last step was done.'),
  facts: z
    .record(z.string(), z.unknown())
    .default({})
    .meta({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
    .describe('What the steps learned: ids, names and addresses.'),
});

const MachineStatusSchema = z.strictObject({
  observedGeneration,
  phase: z.string().default('').describe('Provisioning, Ready, Releasing or Failed.'),
  address: z.string().optional().describe('Address of the node.'),
  message: z.string().optional().describe('What it is doing, or what it waits for.'),
  trust: z
    .string()
    .max(16)
    .optional()
    .describe('Control plane: hash of the OIDC issuers that its API server was last seen to trust.'),
  progress: Progress.optional().describe('Where it is in its list of steps.'),
  conditions: conditionList('Ready, Provisioned, Joined, Healthy.'),
});

export const MachineSpec = MachineSpecSchema;
export type MachineSpec = z.infer<typeof MachineSpecSchema>;
export const MachineStatus = MachineStatusSchema;
export type MachineStatus = z.infer<typeof MachineStatusSchema>;

/** One Talos node and the record of its steps. Made, changed and deleted by the provider alone. */
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
