import { z } from 'zod';
import { changeClasses } from '../engine/change-class.ts';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import { clusterRefSchema, providerConfigRefSchema, providerRefSchema } from './schema/owner-refs.ts';
import { progressSchema } from './schema/progress-schema.ts';
import { celValidation } from './schema/spec-fields.ts';

/** Maximum number of fields that a status names; there may be more. */
export const maxPendingFields = 20;

const versionSchema = z.string().max(20);

/** Versions of single components of a control plane. */
const ComponentVersions = z.strictObject({
  apiServer: versionSchema.optional().describe('Version of kube-apiserver.'),
  controllerManager: versionSchema.optional().describe('Version of kube-controller-manager.'),
  scheduler: versionSchema.optional().describe('Version of kube-scheduler.'),
  proxy: versionSchema.optional().describe('Version of kube-proxy.'),
});
export type ComponentVersions = z.infer<typeof ComponentVersions>;

/** Hash of everything that a machine is to be: its configuration, versions and hardware. */
const revisionSchema = z.string().max(16);

const immutableFields = ['providerRef', 'providerConfigRef', 'clusterRef', 'platform', 'role', 'pool', 'slot'];
const immutableOptionalFields = ['failureDomain', 'endpoint', 'virtualAddress', 'issuerAuthorities', 'address'];

const immutableSpecRule = [
  ...immutableFields.map((field) => `self.${field} == oldSelf.${field}`),
  ...immutableOptionalFields.map(
    (field) =>
      `(has(self.${field}) ? has(oldSelf.${field}) && self.${field} == oldSelf.${field} : !has(oldSelf.${field}))`,
  ),
].join(' && ');

export const remediationActions = ['Restart', 'Replace'] as const;
export type RemediationAction = (typeof remediationActions)[number];

const RemediationRequestSchema = z
  .strictObject({
    action: z
      .enum(remediationActions)
      .describe('Restart: the machine is restarted. Replace: it is deleted, and another Machine takes its place.'),
    attempt: z.int().min(1).max(9).describe('Number of this restart; a later one is more forceful.'),
    requestedAt: z.string().meta({ format: 'date-time' }).describe('When it was decided.'),
  })
  .describe(
    'What the Cluster asks for because the node is unhealthy. A request ends when the node is healthy, or when nothing more is done for it.',
  );
export type RemediationRequest = z.infer<typeof RemediationRequestSchema>;

const MachineSpecSchema = z
  .strictObject({
    providerRef: providerRefSchema.describe('Provider instance that manages the Machine. Other instances ignore it.'),
    providerConfigRef: providerConfigRefSchema.describe('The ProviderConfig that the Machine was created from.'),
    clusterRef: clusterRefSchema.describe('The Cluster that the Machine belongs to.'),
    platform: z.string().max(32).describe('Name of the platform, i.e. of its section in the ProviderConfig.'),
    role: z.enum(['controlplane', 'worker']).describe('Role in the cluster.'),
    pool: z.string().max(16).describe('Worker pool, or cp for control planes.'),
    slot: z.int().min(0).max(9999).describe('Index within the pool.'),
    size: z.string().max(32).describe('Name of the size in the platform section.'),
    failureDomain: z
      .string()
      .max(32)
      .optional()
      .describe('Failure domain of the Machine, if the platform section has several.'),
    talosVersion: versionSchema.describe('Desired Talos version.'),
    kubernetesVersion: versionSchema.describe(
      'Desired Kubernetes version: that of the kubelet, and of every component that components does not name.',
    ),
    components: ComponentVersions.optional().describe(
      'Control plane: desired versions of the components that differ from kubernetesVersion during an upgrade.',
    ),
    endpoint: z
      .string()
      .max(512)
      .optional()
      .describe(
        'URL of the API server of the cluster. Absent if the endpoint is the address of a control plane, which the secrets of the cluster record.',
      ),
    address: z
      .string()
      .max(45)
      .optional()
      .describe('Address of a node that others have made, and that was adopted. Nothing of the node is changed.'),
    virtualAddress: z
      .string()
      .max(45)
      .optional()
      .describe('Virtual address of the API server, if the endpoint is one. A control plane holds it.'),
    issuerAuthorities: z
      .array(z.string().max(16))
      .max(64)
      .optional()
      .describe('Hashes of the CA bundles of OIDC issuers in the machine configuration.'),
    revision: revisionSchema
      .optional()
      .describe(
        'Revision that the running machine may be changed to. The rollout of the cluster sets it, one Machine at a time.',
      ),
    releasedFor: revisionSchema.optional().describe('Revision of the ProviderConfig that `revision` was set for.'),
    remediation: RemediationRequestSchema.optional(),
  })
  .meta(celValidation(immutableSpecRule, 'the identity and the place of a Machine cannot be changed'));

const AppliedSchema = z.strictObject({
  revision: revisionSchema.optional().describe('Revision that the node was last seen with.'),
  talosVersion: versionSchema.optional().describe('Talos version that the node reports.'),
  schematic: z.string().max(64).optional().describe('Schematic of the boot image that the node reports.'),
  kubernetesVersion: versionSchema.optional().describe('Version of the running kubelet.'),
  components: ComponentVersions.optional().describe('Control plane: versions of the running components.'),
  hardware: z
    .string()
    .max(256)
    .optional()
    .describe('Processors, memory and network cards that the platform shows, if it can change them.'),
});

const PendingSchema = z.strictObject({
  revision: revisionSchema.describe('The desired revision.'),
  class: z
    .enum(changeClasses)
    .describe(
      'What the change needs: live (nothing), kubernetes (a component restarts in another version), restart (a restart of the node), os (an upgrade of Talos), hardware (the machine is off meanwhile), replace (another machine), refused (it cannot be made).',
    ),
  fields: z.array(z.string().max(256)).max(maxPendingFields).describe('The first fields that differ.'),
});

const MachineStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema,
  phase: z.string().default('').describe('Provisioning, Ready, Degraded, Releasing or Failed.'),
  address: z.string().optional().describe('Address of the node.'),
  message: z.string().optional().describe('Current activity, or the reason for waiting.'),
  lost: z
    .boolean()
    .optional()
    .describe(
      'Whether the machine and its system disk no longer exist on the platform, so that the node cannot return.',
    ),
  trust: z
    .string()
    .max(16)
    .optional()
    .describe('Control plane: hash of the OIDC issuers that its API server last reported as trusted.'),
  applied: AppliedSchema.optional().describe('What was last seen on the node.'),
  compared: revisionSchema
    .optional()
    .describe('Hash of the ProviderConfig, merged with the ClusterConfigs, that the node was last compared with.'),
  pending: PendingSchema.optional().describe('How the machine differs from its desired state.'),
  progress: progressSchema(['provision', 'update', 'release', 'repair']).optional().describe('Progress of the steps.'),
  conditions: conditionListSchema('Ready, Provisioned, Joined, Healthy, NodeHealthy, UpToDate.'),
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

/** Others have made its node: it is observed, and never changed. */
export const isExternalMachine = ({ spec }: Pick<Machine, 'spec'>): boolean => spec.address !== undefined;

export const Machine: ResourceType<Machine> = {
  group,
  version,
  kind: 'Machine',
  plural: 'machines',
  namespaced: false,
};
