import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { measurePatch, patchLimits } from '../../../api/schema/patch-limits.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { invalidField } from './invalid-field.ts';

/**
 * Checks the total size of all patches. Patches for every node count once for each kind of node, because each kind is
 * rendered.
 */
export function checkPatchLimits({ talos, controlPlane, workerPools }: ProviderConfigSpec): Diagnostic[] {
  const kinds = 1 + workerPools.length;
  const lists = [
    { field: 'talos.patches', patches: talos.patches, times: kinds },
    { field: 'controlPlane.patches', patches: controlPlane.patches, times: 1 },
    ...workerPools.map(({ patches }, i) => ({ field: `workerPools[${i}].patches`, patches, times: 1 })),
  ];
  const all = { characters: 0, values: 0 };
  for (const { field, patches, times } of lists) {
    for (const [i, patch] of patches.entries()) {
      const size = measurePatch(patch);
      if ('tooMuch' in size)
        return [invalidField(`${field}[${i}]`, `The patch ${size.tooMuch}. Split it, or remove parts.`)];
      all.characters += times * size.characters;
      all.values += times * size.values;
      if (exceedsLimits(all)) return [invalidField(`${field}[${i}]`, describeLimits(kinds))];
    }
  }
  return [];
}

const exceedsLimits = ({ characters, values }: { characters: number; values: number }): boolean =>
  characters > patchLimits.charactersInAll || values > patchLimits.valuesInAll;

function describeLimits(kinds: number): string {
  const max = `${patchLimits.valuesInAll} keys and elements, or ${patchLimits.charactersInAll / 2 ** 20} MiB of text`;
  const counted = kinds > 1 ? `, counted for each of the ${kinds} kinds of nodes they apply to` : '';
  return `The patches up to this one have more than ${max}${counted}. Remove some, or use fewer pools.`;
}
