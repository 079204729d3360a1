import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computeSchematicId } from '../../../src/talos/image-factory/client.ts';
import { schematicVectors } from '../../support/fixtures/schematic-vectors.ts';
import { parseSchematic } from '../../world/image-factory/schematic.ts';

const bodyOf = (extensions: readonly string[], kernelArguments: readonly string[]): string =>
  JSON.stringify({
    customization: { extraKernelArgs: kernelArguments, systemExtensions: { officialExtensions: extensions } },
  });

describe('the id of a schematic at the simulated factory', () => {
  test.each(schematicVectors)('is the one that Go computes from $title', ({ extensions, kernelArguments, id }) => {
    expect(parseSchematic(bodyOf(extensions, kernelArguments)).id).toBe(id);
  });

  test('is the one that the product computes: the two implementations share no code', () => {
    const name = fc.stringMatching(/^[a-z0-9.-]{1,12}\/[a-z0-9.-]{1,12}$/);
    const argument = fc.oneof(
      fc.stringMatching(/^-?[a-z_.]{1,12}(?:=[A-Za-z0-9:,./?&-]{0,16})?$/),
      fc.stringMatching(/^[ -~]{1,10}$/),
      fc.stringMatching(/^[-+.:eExo0-9]{1,8}$/),
    );
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 4 }),
        fc.array(argument, { maxLength: 4 }),
        (extensions, kernelArguments) => {
          const { id } = parseSchematic(bodyOf(extensions, kernelArguments));
          expect(computeSchematicId({ extensions, kernelArguments })).toBe(id);
        },
      ),
      { numRuns: 500 },
    );
  });
});
