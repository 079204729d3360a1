import { group } from '../../api/names.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { toUrl } from '../../talos/config/syntax.ts';
import { type ConfigDocument, findUnentitled } from '../../talos/machine-config.ts';
import type { NamedConfig } from './merge.ts';

/** As many as people can read at once. */
const most = 10;

/** What ClusterConfigs ask for that is not for cluster owners to decide, each by its field. */
export function findUnentitledPatches(base: ProviderConfigSpec, configs: readonly NamedConfig[]): readonly string[] {
  const context = { systemRegistries: factoryOf(base), labelPrefix: `${group}/` };
  const problems = configs.flatMap(({ name, spec }) =>
    patchesOf(spec).flatMap(({ field, patches }) =>
      patches.flatMap((patch, i) =>
        findUnentitled(patch, context).map((problem) => `ClusterConfig ${name}, ${field}[${i}]: ${problem}`),
      ),
    ),
  );
  return problems.length > most ? [...problems.slice(0, most), `And ${problems.length - most} more.`] : problems;
}

/** Installers come from there. */
function factoryOf({ talos }: ProviderConfigSpec): readonly string[] {
  const host = toUrl(talos.factoryUrl)?.host;
  return host === undefined ? [] : [host];
}

interface PatchField {
  readonly field: string;
  readonly patches: readonly ConfigDocument[];
}

const patchesOf = ({ patches, controlPlane, workerPools }: NamedConfig['spec']): readonly PatchField[] => [
  { field: 'patches', patches },
  { field: 'controlPlane.patches', patches: controlPlane.patches },
  ...workerPools.map((pool, i) => ({ field: `workerPools[${i}].patches`, patches: pool.patches })),
];
