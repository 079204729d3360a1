import { z } from 'zod';
import type { KubeObject, ResourceType } from '../kube/resource.ts';
import { group, version } from './names.ts';
import type { CommonStatus } from './openmcp/types.ts';
import { maxListedOrphans, OrphanEntry, OrphanSearch } from './orphan-entry.ts';
import type { ProviderConfigSpec } from './provider-config-spec.ts';
import { conditionListSchema, observedGenerationSchema } from './schema/condition-schema.ts';
import { listMapBy } from './schema/spec-fields.ts';

export const ProviderConfigStatus = z.strictObject({
  observedGeneration: observedGenerationSchema,
  phase: z.string().default('').describe('Progressing, Ready or Terminating.'),
  profile: z.string().optional().describe('Name of the ClusterProfile that was published.'),
  clusters: z.int().min(0).max(2147483647).optional().describe('Number of Clusters that use it.'),
  orphanSearch: OrphanSearch.optional().describe('How the last look for orphans went. It does not affect Ready.'),
  orphanCount: z.int().min(0).max(2147483647).optional().describe('Number of orphans, those not listed among them.'),
  orphans: z
    .array(OrphanEntry)
    .max(maxListedOrphans)
    .optional()
    .meta(listMapBy('machine'))
    .describe('What carries our mark on the platform and names a Machine that does not exist; at most 50 of them.'),
  conditions: conditionListSchema('Ready, ConfigValid, CredentialsValid, ProfilePublished; in deletion NotInUse.'),
});
export type ProviderConfigStatus = CommonStatus & {
  /** The published ClusterProfile. */
  profile?: string;
  /** Number of Clusters that use this ProviderConfig. */
  clusters?: number;
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
