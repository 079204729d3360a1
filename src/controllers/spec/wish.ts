import { type ClusterConfig, ClusterConfigSpec } from '../../api/cluster-config.ts';
import type { Reason } from '../../api/conditions.ts';
import type { Cluster } from '../../api/openmcp.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Finding } from '../../engine/platform.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { validateSpec } from '../provider-config/validate.ts';
import type { Services } from '../services.ts';
import { type Merged, mergeConfigs, type NamedConfig, originOf } from './merge.ts';
import { parseSpec } from './parse.ts';
import { choosePlatform } from './platform.ts';
import { findUnentitledPatches } from './unentitled.ts';

export interface Refusal {
  readonly reason: Reason;
  /** Names the field and says what to do. */
  readonly message: string;
}

/**
 * What a Cluster is to be like: the spec of its ProviderConfig with what its ClusterConfigs change, or why that cannot
 * be. `undefined` when the ProviderConfig itself is no valid one: its own conditions say so.
 */
export type Wish = { readonly spec: ProviderConfigSpec } | { readonly refused: Refusal } | undefined;

type Needed = Pick<Services, 'platforms'> & {
  readonly stores: { readonly clusterConfigs: Pick<Services['stores']['clusterConfigs'], 'get'> };
};

export function wishOf(services: Needed, config: ProviderConfig, cluster: Cluster | undefined): Wish {
  const parsed = parseSpec(config);
  if (!parsed.success) return undefined;
  const references = cluster?.spec.clusterConfigs ?? [];
  if (!cluster || references.length === 0) return { spec: parsed.data };
  if (references.length > mostReferences) return { refused: tooMany(references.length) };
  const { namespace } = cluster.metadata;
  const found: ClusterConfig[] = [];
  for (const [i, { name }] of references.entries()) {
    const object = services.stores.clusterConfigs.get({ namespace, name });
    if (!object) return { refused: missing(i, name, namespace) };
    found.push(object);
  }
  return recall(config, found) ?? remember(services, config, found, mergeAll(services, parsed.data, found));
}

/** Each is merged into what those before it made. */
const mostReferences = 16;

const tooMany = (count: number): Refusal => ({
  reason: 'InvalidReference',
  message: `spec.clusterConfigs: there are ${count} of them, and ${mostReferences} at most may be named. Merge some into one.`,
});

const missing = (index: number, name: string, namespace = ''): Refusal => ({
  reason: 'InvalidReference',
  message: `spec.clusterConfigs[${index}]: there is no ClusterConfig ${name} in namespace ${namespace}. Create it, or remove the entry.`,
});

function mergeAll(services: Needed, base: ProviderConfigSpec, objects: readonly ClusterConfig[]): Wish {
  const configs: NamedConfig[] = [];
  for (const { metadata, spec } of objects) {
    const parsed = ClusterConfigSpec.safeParse(spec);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return refuse(`ClusterConfig ${metadata.name}, ${fieldOf(issue?.path ?? [])}: ${issue?.message}. Correct it.`);
    }
    configs.push({ name: metadata.name, spec: parsed.data });
  }
  const unentitled = findUnentitledPatches(base, configs);
  if (unentitled.length > 0) return refuse(unentitled.join(' '));
  const merged = mergeConfigs(base, configs);
  const findings = merged.findings.length > 0 ? merged.findings : findingsOf(services, base, merged.spec);
  if (findings.length === 0) return { spec: merged.spec };
  return refuse(findings.map((finding) => describe(merged, configs, finding)).join(' '));
}

/** `workerPools[0].size` */
const fieldOf = (path: readonly PropertyKey[]): string =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`)).join('');

const refuse = (message: string): Wish => ({ refused: { reason: 'InvalidClusterConfig', message } });

/** What is wrong with the whole, and not already with the ProviderConfig. */
function findingsOf({ platforms }: Needed, base: ProviderConfigSpec, merged: ProviderConfigSpec): readonly Finding[] {
  const chosen = choosePlatform(platforms, merged);
  if (!chosen) return [];
  const findings = validateSpec(merged, chosen.section);
  if (findings.length === 0) return findings;
  const before = new Set(validateSpec(base, chosen.section).map(sentence));
  return findings.filter((finding) => !before.has(sentence(finding)));
}

const sentence = ({ field, message }: Finding): string => `${field}: ${message}`;

/** By the field where it was written; what follows from several of them, by theirs in the ProviderConfig. */
function describe(merged: Merged, configs: readonly NamedConfig[], finding: Finding): string {
  const origin = originOf(merged, finding.field);
  if (origin !== undefined) return `${origin}: ${finding.message}`;
  const names = configs.map(({ name }) => name).join(', ');
  return `With ClusterConfig ${names}, ${finding.field} of the ProviderConfig: ${finding.message}`;
}

interface Known {
  readonly objects: readonly ClusterConfig[];
  readonly wish: Wish;
}

/** As many judgements of one ProviderConfig are kept: one for each Cluster that changes it in its own way. */
const mostKnown = 256;

/** By ProviderConfig: to judge a spec takes long, and it is asked for with every look at a Cluster and its Machines. */
const judged = new WeakMap<ProviderConfig, BoundedMap<string, Known>>();

const keyOf = (objects: readonly ClusterConfig[]): string => objects.map(({ metadata }) => metadata.uid).join(' ');

function recall(config: ProviderConfig, objects: readonly ClusterConfig[]): Wish {
  const known = judged.get(config)?.get(keyOf(objects));
  return known?.objects.every((object, i) => object === objects[i]) ? known.wish : undefined;
}

/** What was judged by objects that are gone or others now is forgotten with the next judgement. */
function remember({ stores }: Needed, config: ProviderConfig, objects: readonly ClusterConfig[], wish: Wish): Wish {
  const known = judged.get(config) ?? new BoundedMap<string, Known>(mostKnown);
  known.drop((one) => one.objects.some((object) => stores.clusterConfigs.get(object.metadata) !== object));
  known.set(keyOf(objects), { objects, wish });
  judged.set(config, known);
  return wish;
}
