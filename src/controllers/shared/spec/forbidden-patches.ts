import { group } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { type ConfigDocument, findForbiddenFields } from '../../../talos/config/machine-config.ts';
import { toUrl } from '../../../talos/config/schema/formats.ts';
import type { NamedClusterConfig } from './merge-cluster-configs.ts';

/** Limit for a readable message. */
const maxProblems = 10;

/** Patches of ClusterConfigs with settings that cluster owners must not change, by field. */
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

/** The hosts that installer images come from. */
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
