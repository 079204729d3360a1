import type { ClusterConfigSpec } from '../../../api/cluster-config.ts';
import type { ProviderConfigSpec, WorkerPool } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';

/** A merged spec and the origin of its fields. */
export interface MergedSpec {
  readonly spec: ProviderConfigSpec;
  /** Fields of the spec, e.g. `workerPools[1].size`, with their names in the ClusterConfig that set them last. */
  readonly origins: ReadonlyMap<string, string>;
  /** Conflicts that prevent the merge. */
  readonly findings: readonly Diagnostic[];
}

export interface NamedClusterConfig {
  readonly name: string;
  readonly spec: ClusterConfigSpec;
}

/** Applies the ClusterConfigs to the spec in order. Their patches follow the patches of the spec. */
export function mergeClusterConfigs(base: ProviderConfigSpec, configs: readonly NamedClusterConfig[]): MergedSpec {
  const start: MergedSpec = { spec: base, origins: new Map(), findings: [] };
  return configs.reduce((merged, config) => new ClusterConfigMerger(merged, config.name).merge(config.spec), start);
}

/** The name of a merged field in its ClusterConfig; `undefined` if no ClusterConfig sets it. */
export function findFieldOrigin({ origins }: MergedSpec, field: string): string | undefined {
  const [found] = [...origins.keys()]
    .filter((known) => field === known || field.startsWith(`${known}.`) || field.startsWith(`${known}[`))
    .sort((a, b) => b.length - a.length);
  return found === undefined ? undefined : `${origins.get(found)}${field.slice(found.length)}`;
}

type WorkerPoolOverride = ClusterConfigSpec['workerPools'][number];
type PatchDocuments = ProviderConfigSpec['talos']['patches'];

/** Merges one ClusterConfig. */
class ClusterConfigMerger {
  readonly #before: MergedSpec;
  readonly #name: string;
  readonly #origins: Map<string, string>;
  readonly #findings: Diagnostic[];

  constructor(before: MergedSpec, name: string) {
    this.#before = before;
    this.#name = name;
    this.#origins = new Map(before.origins);
    this.#findings = [...before.findings];
  }

  merge({ controlPlane, workerPools, patches }: ClusterConfigSpec): MergedSpec {
    const { spec } = this.#before;
    const { patches: planePatches, ...controlPlanes } = controlPlane;
    const merged: ProviderConfigSpec = {
      ...spec,
      talos: { ...spec.talos, patches: this.#append('talos.patches', spec.talos.patches, 'patches', patches) },
      controlPlane: {
        ...spec.controlPlane,
        ...this.#merged('controlPlane', 'controlPlane', controlPlanes),
        patches: this.#append('controlPlane.patches', spec.controlPlane.patches, 'controlPlane.patches', planePatches),
      },
      workerPools: workerPools.reduce(
        (pools, pool, i) => this.#mergePool(pools, pool, `workerPools[${i}]`),
        spec.workerPools,
      ),
    };
    return { spec: merged, origins: this.#origins, findings: this.#findings };
  }

  #mergePool(
    pools: readonly WorkerPool[],
    { patches, labels = {}, ...change }: WorkerPoolOverride,
    own: string,
  ): WorkerPool[] {
    const present = pools.findIndex(({ name }) => name === change.name);
    const index = present < 0 ? pools.length : present;
    const field = `workerPools[${index}]`;
    const before = pools[index] ?? this.#newPool(change, field, own);
    if (Object.keys(labels).length > 0) this.#note(`${field}.labels`, `${own}.labels`);
    const pool: WorkerPool = {
      ...before,
      ...this.#merged(field, own, change),
      labels: { ...before.labels, ...labels },
      patches: this.#append(`${field}.patches`, before.patches, `${own}.patches`, patches),
    };
    return pools.toSpliced(index, 1, pool);
  }

  #newPool({ name, ...given }: Omit<WorkerPoolOverride, 'patches'>, field: string, own: string): WorkerPool {
    this.#note(field, own);
    for (const needed of ['replicas', 'size'] as const) {
      if (given[needed] !== undefined) continue;
      const message = `Set ${needed} to add the worker pool ${name}, which the ProviderConfig does not have, or correct its name.`;
      this.#findings.push({ field: `${field}.${needed}`, reason: 'InvalidConfig', message });
    }
    return { name, replicas: 0, size: '', labels: {}, taints: [], patches: [] };
  }

  /** The fields that are set, each with its origin recorded. */
  #merged<T extends object>(field: string, own: string, fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    for (const [key] of given) this.#note(`${field}.${key}`, `${own}.${key}`);
    return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> };
  }

  #append(field: string, before: PatchDocuments, own: string, added: PatchDocuments): PatchDocuments {
    for (const i of added.keys()) this.#note(`${field}[${before.length + i}]`, `${own}[${i}]`);
    return [...before, ...added];
  }

  #note(field: string, own: string): void {
    this.#origins.set(field, `ClusterConfig ${this.#name}, ${own}`);
  }
}
