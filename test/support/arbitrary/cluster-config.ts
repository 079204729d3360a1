import fc from 'fast-check';
import { anyPatches, clusterOwnerPatches, type PatchesByTarget } from './patches.ts';
import { dnsLabel, labelKey, labelValue } from './strings.ts';

/** Valid and invalid values: existing and unknown sizes and pools, numbers inside and outside of their ranges. */
export const validOrInvalidClusterConfig: fc.Arbitrary<Record<string, unknown>> = fc.record(
  {
    controlPlane: fc.record(
      {
        replicas: fc.constantFrom(1, 1, 3, 5, 2, 7),
        size: sizeName(),
        schedulable: fc.boolean(),
        patches: validOrInvalidPatches('controlPlane'),
      },
      { requiredKeys: [] },
    ),
    workerPools: fc.uniqueArray(
      fc.record(
        {
          name: fc.oneof(fc.constantFrom('work', 'fast'), dnsLabel(16)),
          replicas: fc.oneof(fc.nat(3), fc.constantFrom(30, 500)),
          size: sizeName(),
          labels: fc.dictionary(fc.oneof(labelKey, fc.string({ maxLength: 6 })), labelValue, { maxKeys: 2 }),
          taints: fc.array(
            fc.record({
              key: labelKey,
              value: labelValue,
              effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
            }),
            { maxLength: 2 },
          ),
          patches: validOrInvalidPatches('workers'),
        },
        { requiredKeys: ['name'] },
      ),
      { maxLength: 3, selector: ({ name }) => name },
    ),
    patches: validOrInvalidPatches('talos'),
  },
  { requiredKeys: [] },
);

function sizeName(): fc.Arbitrary<string> {
  return fc.constantFrom('small', 'small', 'large', 'huge', '');
}

/** Realistic patches, and sometimes invalid ones. */
function validOrInvalidPatches(where: keyof PatchesByTarget): fc.Arbitrary<readonly object[]> {
  const good = clusterOwnerPatches.map((patches) => patches[where](13).slice(0, 2));
  const unentitled = anyPatches.map((patches) => patches[where](13).slice(0, 2));
  const bad = fc.constantFrom<readonly object[]>(
    [{ machine: { nonsense: true } }],
    [{ cluster: { id: 'mine' } }],
    [{ kind: 'NoSuchConfig', apiVersion: 'v1alpha1' }],
    [{}],
  );
  return fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: unentitled }, { weight: 1, arbitrary: bad });
}
