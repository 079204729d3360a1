import { type ClusterConfig, ClusterConfigSpec } from '../../../api/cluster-config.ts';
import type { ConditionReason } from '../../../api/conditions.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import type { Services } from '../services.ts';
import { choosePlatform } from './choose-platform.ts';
import { findForbiddenPatches } from './forbidden-patches.ts';
import {
  findFieldOrigin,
  type MergedSpec,
  mergeClusterConfigs,
  type NamedClusterConfig,
} from './merge-cluster-configs.ts';
import { parseSpec } from './parse-spec.ts';
import { validateSpec } from './validate-spec.ts';

export interface SpecRejection {
  readonly reason: ConditionReason;
  /** Names the field and the action to take. */
  readonly message: string;
}

/**
 * The spec of a Cluster: its ProviderConfig merged with its ClusterConfigs, or why they are rejected. `undefined` if
 * the ProviderConfig itself is invalid, which its own conditions report.
 */
export type DesiredSpec = { readonly spec: ProviderConfigSpec } | { readonly refused: SpecRejection } | undefined;

type SpecSources = Pick<Services, 'platforms'> & {
  readonly stores: { readonly clusterConfigs: Pick<Services['stores']['clusterConfigs'], 'get'> };
};

export function resolveDesiredSpec(
  services: SpecSources,
  config: ProviderConfig,
  cluster: Cluster | undefined,
): DesiredSpec {
  const parsed = parseSpec(config);
  if (!parsed.success) return undefined;
  const references = cluster?.spec.clusterConfigs ?? [];
  if (!cluster || references.length === 0) return { spec: parsed.data };
  if (references.length > maxReferences) return { refused: rejectTooMany(references.length) };
  const { namespace } = cluster.metadata;
  const found: ClusterConfig[] = [];
  for (const [i, { name }] of references.entries()) {
    const object = services.stores.clusterConfigs.get({ namespace, name });
    if (!object) return { refused: rejectMissing(i, name, namespace) };
    found.push(object);
  }
  return (
    findCached(config, found) ?? cacheSpec(services, config, found, mergeAndValidate(services, parsed.data, found))
  );
}

/** The ClusterConfigs are merged in order. */
const maxReferences = 16;

const rejectTooMany = (count: number): SpecRejection => ({
  reason: 'InvalidReference',
  message: `spec.clusterConfigs: ${count} entries, at most ${maxReferences} are allowed. Merge some ClusterConfigs.`,
});

const rejectMissing = (index: number, name: string, namespace = ''): SpecRejection => ({
  reason: 'InvalidReference',
  message: `spec.clusterConfigs[${index}]: there is no ClusterConfig ${name} in namespace ${namespace}. Create it, or remove the entry.`,
});

function mergeAndValidate(
  services: SpecSources,
  base: ProviderConfigSpec,
  objects: readonly ClusterConfig[],
): DesiredSpec {
  const configs: NamedClusterConfig[] = [];
  for (const { metadata, spec } of objects) {
    const parsed = ClusterConfigSpec.safeParse(spec);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return rejectSpec(
        `ClusterConfig ${metadata.name}, ${formatPath(issue?.path ?? [])}: ${issue?.message}. Correct it.`,
      );
    }
    configs.push({ name: metadata.name, spec: parsed.data });
  }
  const unentitled = findForbiddenPatches(base, configs);
  if (unentitled.length > 0) return rejectSpec(unentitled.join(' '));
  const merged = mergeClusterConfigs(base, configs);
  const findings = merged.findings.length > 0 ? merged.findings : findNewDiagnostics(services, base, merged.spec);
  if (findings.length === 0) return { spec: merged.spec };
  return rejectSpec(findings.map((finding) => describeDiagnostic(merged, configs, finding)).join(' '));
}

/** `workerPools[0].size` */
const formatPath = (path: readonly PropertyKey[]): string =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`)).join('');

const rejectSpec = (message: string): DesiredSpec => ({ refused: { reason: 'InvalidClusterConfig', message } });

/** Problems of the merged spec that the ProviderConfig alone does not have. */
function findNewDiagnostics(
  { platforms }: SpecSources,
  base: ProviderConfigSpec,
  merged: ProviderConfigSpec,
): readonly Diagnostic[] {
  const chosen = choosePlatform(platforms, merged);
  if (!chosen) return [];
  const findings = validateSpec(merged, chosen.section);
  if (findings.length === 0) return findings;
  const before = new Set(validateSpec(base, chosen.section).map(formatDiagnostic));
  return findings.filter((finding) => !before.has(formatDiagnostic(finding)));
}

const formatDiagnostic = ({ field, message }: Diagnostic): string => `${field}: ${message}`;

/**
 * Names the field of the ClusterConfig. A problem that several fields cause together is named by the field of the
 * ProviderConfig.
 */
function describeDiagnostic(merged: MergedSpec, configs: readonly NamedClusterConfig[], finding: Diagnostic): string {
  const origin = findFieldOrigin(merged, finding.field);
  if (origin !== undefined) return `${origin}: ${finding.message}`;
  const names = configs.map(({ name }) => name).join(', ');
  return `With ClusterConfig ${names}, ${finding.field} of the ProviderConfig: ${finding.message}`;
}

interface CachedSpec {
  readonly objects: readonly ClusterConfig[];
  readonly spec: DesiredSpec;
}

/** Cached specs of one ProviderConfig: one for each combination of ClusterConfigs. */
const maxCached = 256;

/** By ProviderConfig. Validation is slow, and every reconcile of a Cluster and its Machines needs the result. */
const cacheByConfig = new WeakMap<ProviderConfig, LruMap<string, CachedSpec>>();

const cacheKeyOf = (objects: readonly ClusterConfig[]): string => objects.map(({ metadata }) => metadata.uid).join(' ');

function findCached(config: ProviderConfig, objects: readonly ClusterConfig[]): DesiredSpec {
  const known = cacheByConfig.get(config)?.get(cacheKeyOf(objects));
  return known?.objects.every((object, i) => object === objects[i]) ? known.spec : undefined;
}

/** Adds a spec and evicts those whose ClusterConfigs have changed or are gone. */
function cacheSpec(
  { stores }: SpecSources,
  config: ProviderConfig,
  objects: readonly ClusterConfig[],
  desired: DesiredSpec,
): DesiredSpec {
  const known = cacheByConfig.get(config) ?? new LruMap<string, CachedSpec>(maxCached);
  known.drop((one) => one.objects.some((object) => stores.clusterConfigs.get(object.metadata) !== object));
  known.set(cacheKeyOf(objects), { objects, spec: desired });
  cacheByConfig.set(config, known);
  return desired;
}
