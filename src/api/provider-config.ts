import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import type { CommonStatus } from './openmcp/types.ts';
import { maxListedOrphans, OrphanEntry, OrphanSearch } from './orphan-entry.ts';
import type { ProviderConfigSpec } from './provider-config-spec.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import { listMapBy } from './schema/spec-fields.ts';

const countSchema = z.int().min(0).max(2147483647);

const RolloutProgress = z.strictObject({
  revision: z.string().max(16).describe('Hash of the spec that running machines follow.'),
  total: countSchema.describe('Number of running machines.'),
  updated: countSchema.describe('Number of machines that are as the spec wants them.'),
  updating: countSchema.describe('Number of machines that are being changed.'),
  failed: countSchema.describe('Number of machines whose change has failed.'),
});
type RolloutProgress = z.infer<typeof RolloutProgress>;

export const ProviderConfigStatus = z.strictObject({
  observedGeneration: observedGenerationSchema,
  phase: z.string().default('').describe('Progressing, Ready or Terminating.'),
  profile: z.string().optional().describe('Name of the published ClusterProfile.'),
  clusters: z.int().min(0).max(2147483647).optional().describe('Number of Clusters that use the ProviderConfig.'),
  rollout: RolloutProgress.optional().describe('How far running machines have followed the spec.'),
  orphanSearch: OrphanSearch.optional().describe('Result of the last search for orphans. It does not affect Ready.'),
  orphanCount: z
    .int()
    .min(0)
    .max(2147483647)
    .optional()
    .describe('Total number of orphans, including those not listed.'),
  orphans: z
    .array(OrphanEntry)
    .max(maxListedOrphans)
    .optional()
    .meta(listMapBy('machine'))
    .describe('Resources on the platform with the mark of a Machine that does not exist. At most 50.'),
  conditions: conditionListSchema('Ready, ConfigValid, CredentialsValid, ProfilePublished; in deletion NotInUse.'),
});
export type ProviderConfigStatus = CommonStatus & {
  /** The published ClusterProfile. */
  profile?: string;
  /** Number of Clusters that use this ProviderConfig. */
  clusters?: number;
  rollout?: RolloutProgress;
  orphanSearch?: OrphanSearch;
  orphanCount?: number;
  orphans?: OrphanEntry[];
};

/** A template for clusters on one platform. */
export interface ProviderConfig extends KubeObject {
  spec: ProviderConfigSpec;
  status?: ProviderConfigStatus;
}
export const ProviderConfig: ResourceType<ProviderConfig> = {
  group,
  version,
  kind: 'ProviderConfig',
  plural: 'providerconfigs',
  namespaced: false,
};
