import { group } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { type ConfigDocument, findForbiddenFields } from '../../../talos/config/machine-config.ts';
import { toUrl } from '../../../talos/config/schema/formats.ts';
import type { NamedClusterConfig } from './merge-cluster-configs.ts';

/** As many as people can read at once. */
const maxProblems = 10;

/** What ClusterConfigs ask for that is not for cluster owners to decide, each by its field. */
export function findForbiddenPatches(
  base: ProviderConfigSpec,
  configs: readonly NamedClusterConfig[],
): readonly string[] {
  const context = { systemRegistries: factoryHostsOf(base), labelPrefix: `${group}/` };
  const problems = configs.flatMap(({ name, spec }) =>
    patchesOf(spec).flatMap(({ field, patches }) =>
      patches.flatMap((patch, i) =>
        findForbiddenFields(patch, context).map((problem) => `ClusterConfig ${name}, ${field}[${i}]: ${problem}`),
      ),
    ),
  );
  return problems.length > maxProblems
    ? [...problems.slice(0, maxProblems), `And ${problems.length - maxProblems} more.`]
    : problems;
}

/** Installers come from there. */
function factoryHostsOf({ talos }: ProviderConfigSpec): readonly string[] {
  const host = toUrl(talos.factoryUrl)?.host;
  return host === undefined ? [] : [host];
}

interface PatchField {
  readonly field: string;
  readonly patches: readonly ConfigDocument[];
}

const patchesOf = ({ patches, controlPlane, workerPools }: NamedClusterConfig['spec']): readonly PatchField[] => [
  { field: 'patches', patches },
  { field: 'controlPlane.patches', patches: controlPlane.patches },
  ...workerPools.map((pool, i) => ({ field: `workerPools[${i}].patches`, patches: pool.patches })),
];
